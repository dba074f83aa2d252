#pragma once

#include <span>

#include "kernels/weight_sums/weight_sums.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The weights that share a scale, and the objective of the methods that choose the scale: the
/// squared error L(s) = sum (w - s n)^2 with n = clamp(round_half_even(w / s), low, high), where
/// low and high are the limits of the type minus the zero point.
class WeightSlice {
 public:
  /// The zero point is that of the observed range. It does not depend on how much of the range a
  /// scale covers, so it is the same for all scales that a search tries.
  WeightSlice(std::span<const float> weights, const Scheme& scheme);

  [[nodiscard]] bool all_zero() const noexcept { return absmax_scale_ == 0.0; }
  [[nodiscard]] std::size_t size() const noexcept { return weights_.size(); }
  /// The smallest scale that clips nothing.
  [[nodiscard]] double absmax_scale() const noexcept { return absmax_scale_; }
  [[nodiscard]] Affine affine(double scale) const noexcept;

  /// Sums over the integers n that a scale gives: sum w n and sum n^2. Cost: one pass.
  [[nodiscard]] WeightSumsValues sums(double scale) const noexcept;
  /// L(s), from the sums for s.
  [[nodiscard]] double error(double scale, const WeightSumsValues& sums) const noexcept {
    return energy_ - 2.0 * scale * sums.products + scale * scale * sums.squares;
  }

 private:
  std::span<const float> weights_;
  WeightSumsKernel kernel_;
  double low_ = 0.0;
  double high_ = 0.0;
  std::int32_t zero_point_ = 0;
  double absmax_scale_ = 0.0;
  double energy_ = 0.0;
};

}  // namespace qtool
