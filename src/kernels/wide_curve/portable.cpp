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
      const WideCurveBytes bytes = wide_curve_bytes(curve, call.in[i], factor);
      call.high[i] = bytes.high;
      if (call.low != nullptr) call.low[i] = bytes.low;
    }
  }
}

}  // namespace

constexpr WideCurveFunctions wide_curve_portable = {run_wide_curve};

}  // namespace qtool
