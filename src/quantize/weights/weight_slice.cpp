#include "quantize/weights/weight_slice.h"

#include <algorithm>
#include <cmath>

namespace qtool {

WeightSlice::WeightSlice(std::span<const float> weights, const Scheme& scheme) : weights_(weights) {
  const Limits limits = limits_of(scheme);
  Range range;
  for (const float w : weights) {
    range.min = std::min(range.min, w);
    range.max = std::max(range.max, w);
    energy_ += static_cast<double>(w) * w;
  }
  zero_point_ = choose_affine(range, scheme).zero_point;
  low_ = limits.min - zero_point_;
  high_ = limits.max - zero_point_;
  // The scale covers both ends, although rounding the zero point may have moved the integers half
  // a step to one side.
  if (range.max > 0.0F && high_ > 0.0) absmax_scale_ = range.max / high_;
  if (range.min < 0.0F && low_ < 0.0) absmax_scale_ = std::max(absmax_scale_, range.min / low_);
}

Affine WeightSlice::affine(double scale) const noexcept {
  return {static_cast<float>(scale), zero_point_};
}

WeightSumsValues WeightSlice::sums(double scale) const noexcept {
  return kernel_.run(weights_, {1.0 / scale, low_, high_});
}

}  // namespace qtool
