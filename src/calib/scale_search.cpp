#include "calib/scale_search.h"

#include <algorithm>

namespace qtool {

ScaleProblem::ScaleProblem(const Statistics& statistics, const Scheme& scheme)
    : observed_(statistics.range()), scheme_(scheme), density_(statistics.histogram()) {
  const Limits limits = limits_of(scheme);
  const Affine widest = choose_affine(observed_, scheme);
  low_ = limits.min - widest.zero_point;
  high_ = limits.max - widest.zero_point;
  const double step = exact_step(observed_, scheme);
  const bool normal = widest.scale != 1.0F || step >= 0.5;  // 1 stands for "no normal scale"
  largest_ = normal ? step : 0.0;
}

double ScaleProblem::noise_of(const Range& range) const {
  return density_.effect(choose_affine(range, scheme_), limits_of(scheme_)).noise;
}

Range ScaleProblem::range_of(double scale) const noexcept {
  Range range{static_cast<float>(scale * low_), static_cast<float>(scale * high_)};
  if (scheme_.symmetry == Symmetry::kSymmetric) range.min = -range.max;
  range.min = std::max(range.min, observed_.min);
  range.max = std::min(range.max, observed_.max);
  return noise_of(range) < noise_of(observed_) ? range : observed_;
}

}  // namespace qtool
