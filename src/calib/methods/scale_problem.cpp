#include "calib/methods/scale_problem.h"

#include <algorithm>
#include <cmath>

namespace qtool {
namespace {

// The exact zero point of a symmetric range lies half-way between two integers. The choice between
// them must not depend on the last bits of the ends of the range, so a tie is always rounded up.
// For uint8, choose_affine() rounds an exact tie in the same way.
std::int32_t zero_point_of(const Range& range, const Scheme& scheme, const Affine& affine) {
  constexpr double kTie = 1e-3;
  if (scheme.symmetry == Symmetry::kSymmetric) return affine.zero_point;
  const Limits limits = limits_of(scheme);
  const double exact = limits.min - double{range.min} / exact_step(range, scheme);
  return static_cast<std::int32_t>(
      std::round(std::clamp<double>(exact + kTie, limits.min, limits.max)));
}

}  // namespace

ScaleProblem::ScaleProblem(const Statistics& statistics, const Scheme& scheme)
    : observed_(statistics.range()), scheme_(scheme), density_(statistics.histogram()) {
  const Limits limits = limits_of(scheme);
  const Affine widest = choose_affine(observed_, scheme);
  const double step = exact_step(observed_, scheme);
  const bool normal = widest.scale != 1.0F || step >= 0.5;  // 1 stands for "no normal scale"
  const std::int32_t zero_point =
      normal ? zero_point_of(observed_, scheme, widest) : widest.zero_point;
  low_ = limits.min - zero_point;
  high_ = limits.max - zero_point;
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
