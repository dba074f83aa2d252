#include "kernels/add/add.h"
#include "kernels/round_to_u8.h"

namespace qtool {

void reference_add(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b,
                   std::uint8_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float from_a = static_cast<float>(a[i] - params.za) * params.ra;
    const float from_b = static_cast<float>(b[i] - params.zb) * params.rb;
    out[i] = round_to_u8(from_a + from_b, params.zy, params.low, params.high);
  }
}

}  // namespace qtool
