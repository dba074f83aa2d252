#include "kernels/isa.h"

#include <cstddef>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// The features that the compiler may use in the files of an instruction set. They follow from the
// flags these files are built with.
bool has_avx2(const CpuFeatures& cpu) { return cpu.avx2 && cpu.fma && cpu.f16c; }
bool has_avx512vnni(const CpuFeatures& cpu) {
  return has_avx2(cpu) && cpu.avx512f && cpu.avx512bw && cpu.avx512dq && cpu.avx512vl &&
         cpu.avx512vnni;
}

struct IsaRow {
  Isa isa;
  std::string_view name;
  bool (*supported)(const CpuFeatures& cpu);
};

// The rows are in the order of the enum Isa.
constexpr IsaRow kIsaRows[] = {
    {Isa::kPortable, "portable", [](const CpuFeatures&) { return true; }},
    {Isa::kAvx2, "avx2", has_avx2},
    {Isa::kAvx512Vnni, "avx512vnni", has_avx512vnni},
};

const IsaRow& row_of(Isa isa) { return kIsaRows[static_cast<std::size_t>(isa)]; }

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

std::string_view name_of(Isa isa) noexcept { return row_of(isa).name; }

const CpuFeatures& detect_cpu() noexcept {
  static const CpuFeatures features = read_features();
  return features;
}

bool supports(const CpuFeatures& features, Isa isa) noexcept {
  return row_of(isa).supported(features);
}

std::string forced_kernel_from_environment() {
  const char* name = std::getenv("QTOOL_KERNEL");
  return name == nullptr ? std::string() : std::string(name);
}

Isa allowed_isa(const KernelSelection& selection) {
  Isa best = Isa::kPortable;
  std::string known;
  for (const IsaRow& row : kIsaRows) {
    const bool usable = row.supported(selection.features);
    if (selection.name == row.name) {
      if (usable) return row.isa;
      throw Error(ErrorCode::kUsage, concat("kernel '", selection.name,
                                            "' needs instructions that this processor lacks"));
    }
    if (usable) best = row.isa;
    known += concat(known.empty() ? "" : ", ", row.name);
  }
  if (selection.name.empty()) return best;
  throw Error(ErrorCode::kUsage,
              concat("kernel '", selection.name, "' is unknown, expected one of ", known));
}

}  // namespace qtool
