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

WeightSlice::Pattern WeightSlice::pattern(double scale) const noexcept {
  // Adding and subtracting 1.5 * 2^52 rounds half to even, without calling a function.
  constexpr double kRound = 6755399441055744.0;
  // Sums side by side, so that the loop vectorizes; the same on every processor.
  constexpr std::size_t kLanes = 4;
  const double inverse = 1.0 / scale;
  const double low = low_;
  const double high = high_;
  double products[kLanes] = {};
  double squares[kLanes] = {};
  const auto add = [&](float w, std::size_t lane) {
    double n = static_cast<double>(w) * inverse;
    n = n < low ? low : n;
    n = n > high ? high : n;
    n = (n + kRound) - kRound;
    products[lane] += static_cast<double>(w) * n;
    squares[lane] += n * n;
  };
  const std::size_t whole = weights_.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(weights_[i + lane], lane);
  }
  for (std::size_t i = whole; i < weights_.size(); ++i) add(weights_[i], i - whole);
  Pattern sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.products += products[lane];
    sums.squares += squares[lane];
  }
  return sums;
}

}  // namespace qtool
