#include <cmath>
#include <cstdint>

#include "kernels/div/contract.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

void run_div(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
             std::uint8_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float dividend = static_cast<float>(a[i] - params.za) * params.sa;
    const float divisor = static_cast<float>(b[i] - params.zb) * params.sb;
    const float quotient = dividend / divisor / params.sy;
    const float number = std::isnan(quotient) ? 0.0F : quotient;
    out[i] = round_to_u8(number, params.zy, params.low, params.high);
  }
}

}  // namespace

constexpr DivFunctions div_portable = {run_div};

}  // namespace qtool
