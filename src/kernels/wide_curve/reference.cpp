#include "kernels/wide_curve/value.h"
#include "kernels/wide_curve/wide_curve.h"

namespace qtool {

void reference_wide_curve(const WideCurve& curve, const WideCurveCall& call) {
  for (std::int64_t i = 0; i < call.pixels * call.channels; ++i) {
    const float factor = call.factors == nullptr ? 1.0F : call.factors[i % call.channels];
    const WideCurveBytes bytes = wide_curve_bytes(curve, call.in[i], factor);
    call.high[i] = bytes.high;
    if (call.low != nullptr) call.low[i] = bytes.low;
  }
}

}  // namespace qtool
