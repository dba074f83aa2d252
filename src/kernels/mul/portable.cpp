#include <cstdint>

#include "kernels/mul/contract.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

void run_mul(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b,
             std::uint8_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t product = (a[i] - params.za) * (b[i] - params.zb);
    out[i] =
        round_to_u8(static_cast<float>(product) * params.m, params.zy, params.low, params.high);
  }
}

}  // namespace

constexpr MulFunctions mul_portable = {run_mul};

}  // namespace qtool
