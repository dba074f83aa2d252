#pragma once

#include <cstdint>
#include <vector>

#include "qtool/quant/affine.h"
#include "quant/histogram.h"

namespace qtool {

/// Count, sum and sum of squares of some values.
struct Moments {
  double count = 0.0;
  double sum = 0.0;
  double squares = 0.0;

  /// sum of (x - real)^2.
  [[nodiscard]] double noise_around(double real) const noexcept;
  friend Moments operator+(const Moments& a, const Moments& b) noexcept {
    return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
  }
  friend Moments operator-(const Moments& a, const Moments& b) noexcept {
    return {a.count - b.count, a.sum - b.sum, a.squares - b.squares};
  }
};

/// What quantizing the counted values would do to them.
struct QuantizationEffect {
  double signal = 0.0;           ///< sum of x^2
  double noise = 0.0;            ///< sum of (x - dequantize(quantize(x)))^2
  double clipping = 0.0;         ///< the part of it from values outside the represented range
  double saturated_share = 0.0;  ///< share of all values at least half a step outside of it
  /// 10 log10(signal / noise), infinite without noise.
  [[nodiscard]] double sqnr_db() const noexcept;
};

/// The values of a FloatHistogram as a density: uniform inside each cell, the outermost cells cut
/// off at the observed extremes, exact zeros kept apart. Integrals over it are continuous in their
/// limits, so a search for a scale does not depend on the grid. A value is spread over less than
/// 1/16384 of max|x|.
/// Memory: 24 bytes per cell between the extremes, at most 1.5 MiB.
class Density {
 public:
  /// Cost: one pass over the cells, about 0.1 ms.
  explicit Density(const FloatHistogram& histogram);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }  ///< with zeros
  [[nodiscard]] std::int64_t zeros() const noexcept { return zeros_; }
  [[nodiscard]] double min() const noexcept { return min_; }  ///< of all values; 0 when empty
  [[nodiscard]] double max() const noexcept { return max_; }

  /// Moments of the non-zero values below `x`. Cost: constant.
  [[nodiscard]] Moments below(double x) const noexcept;
  /// Of all values.
  [[nodiscard]] Moments total() const noexcept;
  /// The least x with at least `share` (0 to 1) of all values, zeros included, at or below it.
  /// Cost: logarithmic in the cells.
  [[nodiscard]] double quantile(double share) const noexcept;
  /// Mean of |x - centre| over all values, zeros included; 0 when empty.
  [[nodiscard]] double mean_deviation(double centre) const noexcept;

  /// Sums over all values of x q and q^2 with q = clamp(round(x / scale), low, high), integers
  /// relative to the zero point, low <= 0 <= high.
  struct Projection {
    double xq = 0.0;
    double qq = 0.0;
  };
  /// Cost: constant per integer.
  [[nodiscard]] Projection project(double scale, std::int32_t low,
                                   std::int32_t high) const noexcept;
  /// sum of (x - scale q)^2 with q as above. Cost: constant per integer.
  [[nodiscard]] double noise(double scale, std::int32_t low, std::int32_t high) const noexcept;

  /// Signal, noise, its part by clipping, and saturation under an affine map. Cost: constant per
  /// integer.
  [[nodiscard]] QuantizationEffect effect(const Affine& affine,
                                          const Limits& limits) const noexcept;

 private:
  template <typename Visit>
  void each_level(double scale, std::int32_t low, std::int32_t high, Visit visit) const noexcept;
  [[nodiscard]] double cell_from(std::int64_t cell) const noexcept;
  [[nodiscard]] double cell_to(std::int64_t cell) const noexcept;

  double width_ = 0.0;
  double cells_per_unit_ = 0.0;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  std::int64_t zeros_ = 0;
  double min_ = 0.0;
  double max_ = 0.0;
  std::vector<Moments>
      before_;  // before_[i]: moments of the cells below first_ + i; one more at the end
};

}  // namespace qtool
