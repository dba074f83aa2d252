#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qtool {

/// Instruction sets that kernels are written for, slowest first.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512Vnni };

/// The name of an instruction set: `portable`, `avx2`, `avx512vnni`.
std::string_view name_of(Isa isa) noexcept;

/// Features that the processor has and whose registers the operating system saves at a task switch.
struct CpuFeatures {
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512dq = false;
  bool avx512vl = false;
  bool avx512vnni = false;
};

/// The features of this machine, read once. There are none on architectures other than x86-64.
/// Source: Intel 64 and IA-32 manual, CPUID leaves 1 and 7, XGETBV.
const CpuFeatures& detect_cpu() noexcept;

/// True when kernels of `isa` can run on a processor with `features`.
bool supports(const CpuFeatures& features, Isa isa) noexcept;

/// The value of QTOOL_KERNEL, empty when it is not set.
std::string forced_kernel_from_environment();

/// Selects the kernel that each family uses: the fastest one that `features` allow, or the one that
/// `name` asks for. `name` is the name of an instruction set and limits every family to this set. A
/// family without a kernel for it uses its fastest kernel for a lower set.
struct KernelSelection {
  CpuFeatures features = detect_cpu();
  std::string name = forced_kernel_from_environment();
};

/// The highest instruction set that `selection` allows. Throws Error(kUsage) when its name is
/// unknown or needs features that are missing.
Isa allowed_isa(const KernelSelection& selection);

}  // namespace qtool
