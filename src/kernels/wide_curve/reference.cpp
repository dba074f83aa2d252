#include "kernels/wide_curve/value.h"
#include "kernels/wide_curve/wide_curve.h"

namespace qtool {

void reference_wide_curve(const WideCurve& curve, const WideCurveCall& call) {
  for (std::int64_t i = 0; i < call.pixels * call.channels; ++i) {
    const float factor = call.factors == nullptr ? 1.0F : call.factors[i % call.channels];
    const float n = wide_curve_number(curve, wide_curve_value(curve, call.in[i]), factor);
    const auto high = static_cast<std::int32_t>(n * WideCurve::kInverseSteps);
    const auto low = static_cast<std::int32_t>(n) - WideCurve::kSteps * high + 1;
    call.high[i] = static_cast<std::uint8_t>(high);
    if (call.low != nullptr) call.low[i] = static_cast<std::uint8_t>(low);
  }
}

}  // namespace qtool
