#include <cstdint>

#include "kernels/wide_curve/contract.h"
#include "kernels/wide_curve/value.h"

namespace qtool {
namespace {

void run_wide_curve(const WideCurve& curve, const WideCurveCall& call) {
  std::int64_t i = 0;
  for (std::int64_t pixel = 0; pixel < call.pixels; ++pixel) {
    for (std::int64_t c = 0; c < call.channels; ++c, ++i) {
      const float factor = call.factors == nullptr ? 1.0F : call.factors[c];
      const float n = wide_curve_number(curve, wide_curve_value(curve, call.in[i]), factor);
      const auto high = static_cast<std::int32_t>(n * WideCurve::kInverseSteps);
      call.high[i] = static_cast<std::uint8_t>(high);
      if (call.low == nullptr) continue;
      const std::int32_t low = static_cast<std::int32_t>(n) - WideCurve::kSteps * high + 1;
      call.low[i] = static_cast<std::uint8_t>(low);
    }
  }
}

}  // namespace

constexpr WideCurveFunctions wide_curve_portable = {run_wide_curve};

}  // namespace qtool
