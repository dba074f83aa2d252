#include "kernels/mul/mul.h"
#include "kernels/round_to_u8.h"

namespace qtool {

void reference_mul(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b,
                   std::uint8_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t product = (a[i] - params.za) * (b[i] - params.zb);
    out[i] =
        round_to_u8(static_cast<float>(product) * params.m, params.zy, params.low, params.high);
  }
}

}  // namespace qtool
