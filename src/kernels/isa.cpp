#include "kernels/isa.h"

#include <array>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

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
  const auto add = [&](bool present, CpuFeatures feature) {
    if (present) features |= feature;
  };
  add(has_ymm && bit(c, 12), cpu::kFma);
  add(has_ymm && bit(c, 29), cpu::kF16c);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  add(has_ymm && bit(b, 5), cpu::kAvx2);
  add(has_zmm && bit(b, 16), cpu::kAvx512f);
  add(has_zmm && bit(b, 17), cpu::kAvx512dq);
  add(has_zmm && bit(b, 30), cpu::kAvx512bw);
  add(has_zmm && bit(b, 31), cpu::kAvx512vl);
  add(has_zmm && bit(c, 11), cpu::kAvx512vnni);
  add(has_zmm && bit(c, 1), cpu::kAvx512vbmi);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) add(has_ymm && bit(a, 4), cpu::kAvxVnni);
  return features;
}
#else
CpuFeatures read_features() { return {}; }
#endif

}  // namespace

CpuFeatures detect_cpu() noexcept {
  static const CpuFeatures features = read_features();
  return features;
}

std::span<const Isa> isas() noexcept {
  static constexpr auto kIsas = std::to_array<Isa>({
#define QTOOL_ISA(name, features) isa::name,
#include "kernels/isas.inc"
  });
  return kIsas;
}

std::string forced_kernel_from_environment() {
  const char* name = std::getenv("QTOOL_KERNEL");
  return name == nullptr ? std::string() : std::string(name);
}

const Isa* forced_isa(const KernelSelection& selection) {
  if (selection.name.empty()) return nullptr;
  const Isa& row = find_by_name(isas(), selection.name, "kernel");
  if (selection.features.holds(row.needs)) return &row;
  throw Error(ErrorCode::kUsage, to_text("kernel '", selection.name,
                                         "' needs instructions that this processor lacks"));
}

}  // namespace qtool
