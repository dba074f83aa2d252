#pragma once

#include <algorithm>
#include <cstdint>

#include "calib/statistics.h"
#include "qtool/calib/method.h"
#include "quant/density.h"
#include "quant/golden_section.h"

namespace qtool {

/// Calibration as a least-squares problem: find the scale s that minimises
/// L(s) = sum over x of (x - s q)^2, q = clamp(round(x / s), low, high), with the zero point of the
/// observed range held fixed. Shared by the three solvers `mse`, `gradient` and `admm`.
class ScaleProblem {
 public:
  ScaleProblem(const Statistics& statistics, const Scheme& scheme);

  /// Whether there is nothing to solve: all values are zero, or too small for a scale that is a
  /// normal float.
  [[nodiscard]] bool trivial() const noexcept { return largest_ <= 0.0; }
  /// The scale with which nothing saturates.
  [[nodiscard]] double largest_scale() const noexcept { return largest_; }
  [[nodiscard]] double noise(double scale) const noexcept {
    return density_.noise(scale, low_, high_);
  }
  [[nodiscard]] Density::Projection project(double scale) const noexcept {
    return density_.project(scale, low_, high_);
  }
  [[nodiscard]] const Density& density() const noexcept { return density_; }

  /// The range that `scale` covers, limited to the observed range. Returns the observed range
  /// unless the limited range makes less noise.
  [[nodiscard]] Range range_of(double scale) const noexcept;
  /// Noise of the values when the integers cover `range`.
  [[nodiscard]] double noise_of(const Range& range) const;

 private:
  Range observed_;
  Scheme scheme_;
  Density density_;
  std::int32_t low_ = 0;
  std::int32_t high_ = 0;
  double largest_ = 0.0;
};

/// The point of (0, top] where `f` is least. Takes the best point of an even grid (the largest of
/// several equally good points), then makes `steps` steps of golden section around it. `f` may be
/// infinite, but never NaN.
template <typename Function>
double grid_then_golden(double top, int grid, int steps, Function f) {
  int best = grid;
  double least = f(top);
  for (int i = grid - 1; i >= 1; --i) {
    const double value = f(top * i / grid);
    if (value < least) {
      least = value;
      best = i;
    }
  }
  const double found = golden_section(top * (best - 1) / grid + top * 1e-6,
                                      top * std::min(best + 1, grid) / grid, steps, f);
  return f(found) <= least ? found : top * best / grid;
}

}  // namespace qtool
