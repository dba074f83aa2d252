#include "kernels/mul/mul.h"

#include <algorithm>

namespace qtool {
namespace {

constexpr KernelRow<MulFunctions> kRows[] = {
#define QTOOL_KERNEL(name, isa) {#name, Isa::isa, &mul_##name},
#include "kernels/mul/mul.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<MulFunctions>> mul_kernels() noexcept { return kRows; }

void MulKernel::run_scalar(const MulParams& params, const std::uint8_t* a, std::uint8_t b,
                           std::uint8_t* out, std::int64_t count) const {
  constexpr std::int64_t kPart = 1024;
  std::uint8_t repeated[kPart];
  std::fill_n(repeated, std::min(count, kPart), b);
  for (std::int64_t done = 0; done < count; done += kPart) {
    run(params, a + done, repeated, out + done, std::min(kPart, count - done));
  }
}

}  // namespace qtool
