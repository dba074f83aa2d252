#include "kernels/isa.h"

#include <array>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

constexpr std::array kAllIsas = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni};

#if defined(__x86_64__)
std::uint64_t enabled_state() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32U) | low;
}

CpuFeatures read_features() {
  CpuFeatures features;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
  const auto bit = [](std::uint32_t word, unsigned index) { return ((word >> index) & 1U) != 0; };
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) return features;
  const std::uint64_t state = enabled_state();
  constexpr std::uint64_t kYmm = 0x06;
  constexpr std::uint64_t kZmm = 0xE6;
  const bool has_ymm = (state & kYmm) == kYmm && bit(c, 28);
  const bool has_zmm = (state & kZmm) == kZmm && has_ymm;
  features.fma = has_ymm && bit(c, 12);
  features.f16c = has_ymm && bit(c, 29);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  features.avx2 = has_ymm && bit(b, 5);
  features.avx512f = has_zmm && bit(b, 16);
  features.avx512dq = has_zmm && bit(b, 17);
  features.avx512bw = has_zmm && bit(b, 30);
  features.avx512vl = has_zmm && bit(b, 31);
  features.avx512vnni = has_zmm && bit(c, 11);
  return features;
}
#else
CpuFeatures read_features() { return {}; }
#endif

}  // namespace

std::string_view name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512Vnni:
      return "avx512vnni";
    case Isa::kPortable:
      break;
  }
  return "portable";
}

const CpuFeatures& detect_cpu() noexcept {
  static const CpuFeatures features = read_features();
  return features;
}

bool supports(const CpuFeatures& features, Isa isa) noexcept {
  // The compiler may use every instruction that the flags of an ISA's files allow.
  const bool avx2 = features.avx2 && features.fma && features.f16c;
  switch (isa) {
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512Vnni:
      return avx2 && features.avx512f && features.avx512bw && features.avx512dq &&
             features.avx512vl && features.avx512vnni;
    case Isa::kPortable:
      break;
  }
  return true;
}

std::string forced_kernel_from_environment() {
  const char* name = std::getenv("QTOOL_KERNEL");
  return name == nullptr ? std::string() : std::string(name);
}

Isa allowed_isa(const KernelSelection& selection) {
  Isa best = Isa::kPortable;
  std::string known;
  for (const Isa isa : kAllIsas) {
    const bool usable = supports(selection.features, isa);
    if (selection.name == name_of(isa)) {
      if (usable) return isa;
      throw Error(ErrorCode::kUsage, concat("kernel '", selection.name,
                                            "' needs instructions that this processor lacks"));
    }
    if (usable) best = isa;
    known += concat(known.empty() ? "" : ", ", name_of(isa));
  }
  if (selection.name.empty()) return best;
  throw Error(ErrorCode::kUsage,
              concat("kernel '", selection.name, "' is unknown, expected one of ", known));
}

}  // namespace qtool
