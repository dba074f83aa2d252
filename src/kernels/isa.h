#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// A set of features of a processor.
class CpuFeatures {
 public:
  constexpr CpuFeatures() = default;
  /// The set of one feature; `bit` is its number.
  static constexpr CpuFeatures of(unsigned bit) { return CpuFeatures(1U << bit); }

  [[nodiscard]] constexpr bool holds(CpuFeatures other) const {
    return (bits_ & other.bits_) == other.bits_;
  }
  [[nodiscard]] constexpr CpuFeatures without(CpuFeatures other) const {
    return CpuFeatures(bits_ & ~other.bits_);
  }
  friend constexpr CpuFeatures operator|(CpuFeatures a, CpuFeatures b) {
    return CpuFeatures(a.bits_ | b.bits_);
  }
  constexpr CpuFeatures& operator|=(CpuFeatures other) { return *this = *this | other; }
  friend constexpr bool operator==(CpuFeatures, CpuFeatures) = default;

 private:
  explicit constexpr CpuFeatures(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

/// The features that kernels ask for.
namespace cpu {
inline constexpr CpuFeatures kAvx2 = CpuFeatures::of(0);
inline constexpr CpuFeatures kFma = CpuFeatures::of(1);
inline constexpr CpuFeatures kF16c = CpuFeatures::of(2);
inline constexpr CpuFeatures kAvx512f = CpuFeatures::of(3);
inline constexpr CpuFeatures kAvx512bw = CpuFeatures::of(4);
inline constexpr CpuFeatures kAvx512dq = CpuFeatures::of(5);
inline constexpr CpuFeatures kAvx512vl = CpuFeatures::of(6);
inline constexpr CpuFeatures kAvx512vnni = CpuFeatures::of(7);
inline constexpr CpuFeatures kAvx512vbmi = CpuFeatures::of(8);
inline constexpr CpuFeatures kAvxVnni = CpuFeatures::of(9);
}  // namespace cpu

/// The features of this machine, read once: those that its processor has and whose use the
/// operating system permits, which means that it saves their registers at a task switch. There are
/// none on architectures other than x86-64. Source: Intel 64 and IA-32 manual, CPUID leaves 1 and
/// 7, XGETBV.
CpuFeatures detect_cpu() noexcept;

/// An instruction set that kernels are written for.
struct Isa {
  std::string_view name;  ///< `portable`, `avx2`, ...
  CpuFeatures needs;
};

/// Every instruction set of this architecture, slowest first; the first one needs nothing.
std::span<const Isa> isas() noexcept;

namespace isa {
#define QTOOL_ISA(name, features) inline constexpr Isa name{#name, features};
#include "kernels/isas.inc"
}  // namespace isa

/// The value of QTOOL_KERNEL, empty when it is not set.
std::string forced_kernel_from_environment();

/// Selects the kernel that each family uses: the fastest one that `features` allow, or the one that
/// `name` asks for. `name` is the name of an instruction set. A family without a kernel for it uses
/// its fastest kernel that needs fewer features.
struct KernelSelection {
  CpuFeatures features = detect_cpu();
  std::string name = forced_kernel_from_environment();
};

/// The instruction set that `selection` names; null if it names none. Throws Error(kUsage) when the
/// name is unknown or needs features that are missing.
const Isa* forced_isa(const KernelSelection& selection);

}  // namespace qtool
