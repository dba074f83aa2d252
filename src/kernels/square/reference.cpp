#include "kernels/round_to_u8.h"
#include "kernels/square/square.h"

namespace qtool {

void reference_square(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
                      std::uint8_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float from_a = static_cast<float>(a[i] - params.za) * params.sa;
    const float from_b = static_cast<float>(b[i] - params.zb) * params.sb;
    const float difference = from_a - from_b;
    const float square = difference * difference;
    out[i] = round_to_u8(square / params.sy, params.zy, params.low, params.high);
  }
}

}  // namespace qtool
