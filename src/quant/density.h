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

  /// The sum of (x - real)^2.
  [[nodiscard]] double noise_around(double real) const noexcept;
  friend Moments operator+(const Moments& a, const Moments& b) noexcept {
    return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
  }
  friend Moments operator-(const Moments& a, const Moments& b) noexcept {
    return {a.count - b.count, a.sum - b.sum, a.squares - b.squares};
  }
};

/// The effect that quantization would have on the counted values.
struct QuantizationEffect {
  double signal = 0.0;           ///< sum of x^2
  double noise = 0.0;            ///< sum of (x - dequantize(quantize(x)))^2
  double clipping = 0.0;         ///< the part of `noise` from values outside the represented range
  double saturated_share = 0.0;  ///< share of values half a step or more outside this range
  /// 10 log10(signal / noise), infinite without noise.
  [[nodiscard]] double sqnr_db() const noexcept;
};

/// The values of a FloatHistogram as a density. It is uniform inside each cell, the outermost cells
/// end at the observed extremes, and exact zeros are kept apart. Integrals over it are continuous
/// in their limits, so a search for a scale does not depend on the grid. A value is spread over an
/// interval shorter than max|x| / 16384.
/// Memory: 24 bytes per cell between the extremes, at most 1.5 MiB.
class Density {
 public:
  /// Cost: one pass over the cells, about 0.1 ms.
  explicit Density(const FloatHistogram& histogram);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }  ///< with zeros
  [[nodiscard]] std::int64_t zeros() const noexcept { return zeros_; }
  [[nodiscard]] double min() const noexcept { return min_; }  ///< smallest value; 0 when empty
  [[nodiscard]] double max() const noexcept { return max_; }

  /// Moments of the non-zero values below `x`. Cost: constant.
  [[nodiscard]] Moments below(double x) const noexcept;
  /// Moments of all values, zeros included.
  [[nodiscard]] Moments total() const noexcept;
  /// The smallest x for which at least `share` (0 to 1) of all values, zeros included, are at or
  /// below x. Cost: logarithmic in the cells.
  [[nodiscard]] double quantile(double share) const noexcept;
  /// Mean of |x - centre| over all values, zeros included; 0 when empty.
  [[nodiscard]] double mean_deviation(double centre) const noexcept;

  /// The sums of x q and of q^2 over all values x, with q = clamp(round(x / scale), low, high).
  /// `low` and `high` are relative to the zero point, with low <= 0 <= high.
  struct Projection {
    double xq = 0.0;
    double qq = 0.0;
  };
  /// Cost: constant per integer.
  [[nodiscard]] Projection project(double scale, std::int32_t low,
                                   std::int32_t high) const noexcept;
  /// The sum of (x - scale q)^2 over all values x, with q as in Projection. Cost: constant per
  /// integer.
  [[nodiscard]] double noise(double scale, std::int32_t low, std::int32_t high) const noexcept;

  /// The signal, the noise, the noise from clipping, and the saturated share under an affine map.
  /// Cost: constant per integer.
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
      before_;  // before_[i]: moments of all cells below first_ + i; the last entry: of all cells
};

}  // namespace qtool
