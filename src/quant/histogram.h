#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "qtool/quant/affine.h"
#include "quant/cell_counts.h"

namespace qtool {

/// The grid of a FloatHistogram, for a caller that does the counting itself.
struct CountingGrid {
  float cells_per_unit = 0.0F;        ///< a power of two
  std::uint16_t* counters = nullptr;  ///< the counter of cell 0; null while all values are zeros
};

/// Counts of floats on a grid that needs no range in advance, so that one pass suffices.
/// Each sign has 2^15 equal cells over [0, 2^e), where 2^e is the smallest power of two above the
/// largest magnitude so far; when a larger value arrives, cells are merged in pairs, which is exact
/// because the grids nest. The state therefore depends on the values only, never on their order or
/// grouping, and data scaled by a power of two gives the same counts. Between 2^14 and 2^15 cells
/// span [0, max|x|]: 8 to 16 per bin of a 2,048-bin histogram.
/// Zeros have a count of their own. NaN and the infinities share another count and are left out of
/// everything else. A magnitude below the smallest normal float counts as zero; below 2^-101 the
/// grid stops refining. Memory: 64 KiB, and 4 bytes for each cell of a page (1,024 cells) with a
/// count of 2^14 or more; twice that after a negative value was seen. More than 2^45 values throw
/// Error(kInvalidArgument).
class FloatHistogram {
 public:
  static constexpr int kGridBits = 15;
  static constexpr std::int64_t kCells = std::int64_t{1} << kGridBits;  ///< per sign

  /// `value`, or 0 when its magnitude counts as zero.
  static float flushed(float value) noexcept {
    return std::fabs(value) < std::numeric_limits<float>::min() ? 0.0F : value;
  }

  /// Counts the values in plain code. Cost: about 3 ns per value on one core; faster code uses
  /// prepare().
  void observe(std::span<const float> values);

  /// The largest `count` for prepare().
  static constexpr std::int64_t kMaxAtOnce = CellCounts::kMaxAtOnce;

  /// Widens the extremes and the grid to contain two finite values. It does not count them.
  void include(float lowest, float highest);

  /// Announces `count` values (at most kMaxAtOnce) that the caller will count. They must lie within
  /// the extremes: call include() first. Before any other use of this histogram, the caller must
  /// add one to counters[cell] for every value that is not zero, and pass the number of zeros to
  /// add_zeros(). The cell of a value is value * cells_per_unit truncated, minus one for a negative
  /// value. A magnitude below the smallest normal float is a zero.
  [[nodiscard]] CountingGrid prepare(std::int64_t count);
  /// The counters nearest to zero, at most half of those of each sign. They are incremented most,
  /// so a caller can prefetch them before the next prepare().
  [[nodiscard]] std::span<const std::uint16_t> counters_to_fetch() const noexcept;
  void add_zeros(std::int64_t zeros) noexcept {
    zeros_ += zeros;
    if (!counts_.empty()) counts_.give_back(zeros);  // without counters no room was made
  }

  /// Adds every value of `other`, each of them `times` times (at least once).
  void merge(const FloatHistogram& other, std::int64_t times = 1);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }  ///< finite values
  [[nodiscard]] std::int64_t zeros() const noexcept { return zeros_; }
  [[nodiscard]] std::int64_t nonfinite() const noexcept { return nonfinite_; }
  [[nodiscard]] float min() const noexcept;     ///< smallest finite value seen, 0 when none
  [[nodiscard]] float max() const noexcept;     ///< largest finite value seen, 0 when none
  [[nodiscard]] float absmax() const noexcept;  ///< largest magnitude

  /// Width of a cell, a power of two; 0 when only zeros were seen.
  [[nodiscard]] double cell_width() const noexcept;
  /// The number of values in [cell * width, (cell + 1) * width) for cell >= 0, without zeros.
  /// Negative cells are the mirror image: cell -1 is (-width, 0). `cell` lies in [-kCells, kCells).
  [[nodiscard]] std::int64_t cell_count(std::int64_t cell) const noexcept {
    if (counts_.empty() || cell < -origin() || cell >= kCells) return 0;
    return counts_.at(static_cast<std::size_t>(cell + origin()));
  }
  /// The cells that can be non-zero: [first_cell, end_cell).
  [[nodiscard]] std::int64_t first_cell() const noexcept;
  [[nodiscard]] std::int64_t end_cell() const noexcept;
  /// The counts of the cells [first_cell, end_cell). Cost: 0.5 ns per cell.
  [[nodiscard]] std::vector<std::int64_t> cells() const;

  /// Restores a stored histogram of finite values in [min, max]: `zeros`, and the counts of the
  /// cells from first_cell() on. Throws Error(kInvalidArgument) unless the number of cells matches
  /// the extremes and the number of values is at most CellCounts::kMaxCount.
  static FloatHistogram from_cells(float min, float max, std::int64_t zeros,
                                   std::span<const std::int64_t> cells);

  friend bool operator==(const FloatHistogram& a, const FloatHistogram& b);

 private:
  static constexpr std::int64_t kMaxFetched = kCells / 2;  // cells per sign
  void observe_block(std::span<const float> values);
  void widen(float lowest, float highest);
  void coarsen(int shift);
  [[nodiscard]] std::int64_t origin() const noexcept { return has_negative_ ? kCells : 0; }
  [[nodiscard]] CellCounts::Span in_use() const noexcept;  // [first_cell, end_cell) in counts_

  int exponent_ = 0;  // the grid covers magnitudes below 2^exponent_
  bool has_negative_ = false;
  float min_ = std::numeric_limits<float>::infinity();
  float max_ = -std::numeric_limits<float>::infinity();
  std::int64_t count_ = 0;
  std::int64_t zeros_ = 0;
  std::int64_t nonfinite_ = 0;
  CellCounts counts_;  // [negative cells,] positive cells
};

/// Counts in equal bins over [lower, upper]; the last bin includes `upper`.
struct LinearHistogram {
  double lower = 0.0;
  double upper = 0.0;
  std::vector<std::int64_t> counts;
  [[nodiscard]] double width() const noexcept {
    return counts.empty() ? 0.0 : (upper - lower) / static_cast<double>(counts.size());
  }
  [[nodiscard]] std::int64_t total() const noexcept;
  friend bool operator==(const LinearHistogram&, const LinearHistogram&) = default;
};

/// Counts the non-zero |x| in `bins` equal bins over [0, max|x|]. A cell that a bin edge cuts is
/// divided in proportion, into whole counts, unless the bin edges coincide with cell edges up to
/// rounding. No count is lost. A value moves by less than a cell, which is at most 1/8 of a bin
/// when there are 2,048 bins. All bins are 0 when every value is 0. Cost: O(cells + bins). Throws
/// Error(kInvalidArgument) when `bins` is not in [1, 2^20].
LinearHistogram magnitude_histogram(const FloatHistogram& histogram, std::int64_t bins);

/// Adds the non-zero |x| to bins over [0, upper]: bin min(int(|x| / upper * bins), bins - 1),
/// computed in float32 like other tools do. NaN is left out. `histogram.lower` must be 0 and
/// `histogram.upper` the largest magnitude that occurs. Cost: 2 ns per value.
void count_magnitudes(std::span<const float> values, LinearHistogram& histogram);

}  // namespace qtool
