#include "quant/histogram.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr int kLowestExponent = -101;  // keeps 1 / cell width a normal float
constexpr std::int64_t kMaxBins = std::int64_t{1} << 20;

// Adds `count` values spread evenly from `start` to `stop`, both in units of bins.
void spread(std::int64_t count, double start, double stop, std::span<std::int64_t> bins) {
  const std::int64_t end = std::ssize(bins) - 1;
  const auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(start), 0, end);
  // Number of bins that begin below `stop`, minus one. std::ceil() would be a function call where
  // SSE4.1 is not assumed.
  const auto whole = static_cast<std::int64_t>(stop);
  const std::int64_t below = static_cast<double>(whole) == stop ? whole - 1 : whole;
  const auto last = std::clamp<std::int64_t>(below, first, end);
  std::int64_t given = 0;
  for (std::int64_t bin = first; bin < last; ++bin) {
    const double share = (static_cast<double>(bin + 1) - start) / (stop - start);
    const auto upto = static_cast<std::int64_t>(static_cast<double>(count) * share + 0.5);
    bins[static_cast<std::size_t>(bin)] += upto - given;
    given = upto;
  }
  bins[static_cast<std::size_t>(last)] += count - given;
}

LinearHistogram empty_histogram(double upper, std::int64_t bins) {
  if (bins < 1 || bins > kMaxBins) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("histogram: found ", bins, " bins, expected 1 to ", kMaxBins));
  }
  return {0.0, upper, std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
}

// The width of a bin. If the bin edges are close to cell edges, the width is changed so that they
// coincide. Then pixels from -1 to 1 give the same bins whether their largest value is 1 or
// 1.000001.
double bin_width(const FloatHistogram& histogram, const LinearHistogram& bins) {
  constexpr double kMiss = 0.1;  // largest distance of the last bin edge from a cell edge, in cells
  const double cells = bins.width() / histogram.cell_width();
  const double whole = std::nearbyint(cells);
  const double miss = std::abs(cells - whole) * static_cast<double>(bins.counts.size());
  return whole >= 1.0 && miss <= kMiss ? whole * histogram.cell_width() : bins.width();
}

// The counts of |x|: the cells of both signs added up, from zero outwards.
std::vector<std::int64_t> magnitude_cells(const FloatHistogram& histogram) {
  const std::vector<std::int64_t> cells = histogram.cells();
  const auto zero = cells.begin() - histogram.first_cell();
  std::vector<std::int64_t> magnitudes(zero, cells.end());
  const std::reverse_iterator negative(zero);
  magnitudes.resize(std::max(magnitudes.size(), static_cast<std::size_t>(cells.rend() - negative)));
  std::transform(negative, cells.rend(), magnitudes.begin(), magnitudes.begin(), std::plus());
  return magnitudes;
}

// Throws when count + times * more exceeds CellCounts::kMaxCount.
void require_room(std::int64_t count, std::int64_t more, std::int64_t times = 1) {
  if (more > (CellCounts::kMaxCount - count) / times) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("histogram: found ", times, " x ", more, " values beside ", count,
                        ", expected at most ", CellCounts::kMaxCount, " together"));
  }
}

}  // namespace

void FloatHistogram::observe(std::span<const float> values) {
  constexpr std::size_t kBlock = 4096;
  for (; !values.empty(); values = values.subspan(std::min(kBlock, values.size()))) {
    observe_block(values.first(std::min(kBlock, values.size())));
  }
}

void FloatHistogram::observe_block(std::span<const float> values) {
  float lowest = std::numeric_limits<float>::infinity();
  float highest = -lowest;
  std::int64_t finite = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    ++finite;
  }
  nonfinite_ += std::ssize(values) - finite;
  if (finite == 0) return;
  include(lowest, highest);
  const CountingGrid grid = prepare(finite);
  std::int64_t zeros = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    if (flushed(value) == 0.0F) {
      ++zeros;
    } else {
      const auto cell = static_cast<std::int32_t>(value * grid.cells_per_unit);
      ++grid.counters[cell - (value < 0.0F ? 1 : 0)];
    }
  }
  add_zeros(zeros);
}

void FloatHistogram::include(float lowest, float highest) {
  if (lowest < min_ || highest > max_) widen(flushed(lowest), flushed(highest));
}

CountingGrid FloatHistogram::prepare(std::int64_t count) {
  require_room(count_, count);
  count_ += count;
  if (counts_.empty()) return {};
  counts_.make_room(count, [this] { return in_use(); });
  return {std::ldexp(1.0F, kGridBits - exponent_), counts_.counters() + origin()};
}

std::span<const std::uint16_t> FloatHistogram::counters_to_fetch() const noexcept {
  if (counts_.empty()) return {};
  const std::int64_t first = std::max(first_cell(), -kMaxFetched);
  const std::int64_t end = std::min(end_cell(), kMaxFetched);
  return {counts_.counters() + origin() + first, counts_.counters() + origin() + end};
}

void FloatHistogram::widen(float lowest, float highest) {
  min_ = std::min(min_, lowest);
  max_ = std::max(max_, highest);
  const float largest = absmax();
  if (largest == 0.0F) return;
  int exponent = 0;
  static_cast<void>(std::frexp(largest, &exponent));  // largest < 2^exponent
  exponent = std::max(exponent, kLowestExponent);
  if (counts_.empty()) {
    counts_.grow_front(static_cast<std::size_t>(kCells));
    exponent_ = exponent;
  }
  if (min_ < 0.0F && !has_negative_) {
    counts_.grow_front(static_cast<std::size_t>(kCells));
    has_negative_ = true;
  }
  if (exponent > exponent_) {
    coarsen(std::min(exponent - exponent_, kGridBits));
    exponent_ = exponent;
  }
}

// Moves every count to cell >> shift, which merges groups of 2^shift cells of either sign, from
// zero outwards.
void FloatHistogram::coarsen(int shift) {
  const auto move = [&](std::int64_t cell) {
    const std::int64_t count = counts_.take(static_cast<std::size_t>(origin() + cell));
    if (count > 0) counts_.add(static_cast<std::size_t>(origin() + (cell >> shift)), count);
  };
  for (std::int64_t cell = 0; cell < kCells; ++cell) move(cell);
  for (std::int64_t cell = -1; cell >= -origin(); --cell) move(cell);
}

void FloatHistogram::merge(const FloatHistogram& other, std::int64_t times) {
  require_room(count_, other.count_, times);
  count_ += times * other.count_;
  zeros_ += times * other.zeros_;
  nonfinite_ += times * other.nonfinite_;
  if (other.min_ <= other.max_) widen(other.min_, other.max_);
  if (other.counts_.empty()) return;
  const int shift = std::min(exponent_ - other.exponent_, kGridBits);
  std::int64_t cell = other.first_cell();
  for (const std::int64_t count : other.cells()) {
    if (count > 0) counts_.add(static_cast<std::size_t>(origin() + (cell >> shift)), times * count);
    ++cell;
  }
}

float FloatHistogram::min() const noexcept { return min_ <= max_ ? min_ : 0.0F; }
float FloatHistogram::max() const noexcept { return min_ <= max_ ? max_ : 0.0F; }
float FloatHistogram::absmax() const noexcept { return std::max(-min(), max()); }

double FloatHistogram::cell_width() const noexcept {
  return counts_.empty() ? 0.0 : std::ldexp(1.0, exponent_ - kGridBits);
}

std::int64_t FloatHistogram::first_cell() const noexcept {
  return has_negative_ ? -static_cast<std::int64_t>(-min_ / cell_width()) - 1 : 0;
}

std::int64_t FloatHistogram::end_cell() const noexcept {
  return max_ > 0.0F ? static_cast<std::int64_t>(max_ / cell_width()) + 1 : 0;
}

CellCounts::Span FloatHistogram::in_use() const noexcept {
  return {static_cast<std::size_t>(origin() + first_cell()),
          static_cast<std::size_t>(origin() + end_cell())};
}

std::vector<std::int64_t> FloatHistogram::cells() const {
  return counts_.empty() ? std::vector<std::int64_t>() : counts_.range(in_use());
}

FloatHistogram FloatHistogram::from_cells(float min, float max, std::int64_t zeros,
                                          std::span<const std::int64_t> cells) {
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorCode::kInvalidArgument, to_text("histogram: ", what));
  };
  FloatHistogram histogram;
  if (!std::isfinite(min) || !std::isfinite(max) || min > max || zeros < 0) {
    refuse("expected finite extremes in order and a count of zeros");
  }
  require_room(0, zeros);
  histogram.zeros_ = zeros;
  histogram.count_ = zeros;
  for (const std::int64_t count : cells) {
    if (count < 0) refuse("a count is negative");
    require_room(histogram.count_, count);
    histogram.count_ += count;
  }
  if (histogram.count_ == 0) {
    if (!cells.empty()) refuse("found cells without values");
    return histogram;
  }
  histogram.widen(flushed(min), flushed(max));
  const std::int64_t first = histogram.first_cell();
  if (static_cast<std::int64_t>(cells.size()) != histogram.end_cell() - first) {
    refuse(to_text("found ", cells.size(), " cells, expected ", histogram.end_cell() - first));
  }
  if (cells.empty()) return histogram;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::int64_t index = first + histogram.origin() + static_cast<std::int64_t>(i);
    histogram.counts_.add(static_cast<std::size_t>(index), cells[i]);
  }
  return histogram;
}

bool operator==(const FloatHistogram& a, const FloatHistogram& b) {
  if (a.count_ != b.count_ || a.zeros_ != b.zeros_ || a.nonfinite_ != b.nonfinite_ ||
      a.min() != b.min() || a.max() != b.max() || a.exponent_ != b.exponent_) {
    return false;
  }
  return a.cells() == b.cells();
}

std::int64_t LinearHistogram::total() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

LinearHistogram magnitude_histogram(const FloatHistogram& histogram, std::int64_t bins) {
  LinearHistogram result = empty_histogram(histogram.absmax(), bins);
  const std::vector<std::int64_t> cells = magnitude_cells(histogram);
  const double width = bin_width(histogram, result);
  double end = 0.0;
  double start = 0.0;
  for (const std::int64_t count : cells) {
    end += histogram.cell_width();  // exact: a whole number of powers of two
    const double stop = std::min(end, result.upper) / width;
    if (count > 0) spread(count, start, stop, result.counts);
    start = stop;
  }
  return result;
}

void count_magnitudes(std::span<const float> values, LinearHistogram& histogram) {
  const auto bins = static_cast<std::int64_t>(histogram.counts.size());
  const auto upper = static_cast<float>(histogram.upper);
  if (bins == 0 || !(upper > 0.0F)) return;
  for (const float value : values) {
    const float magnitude = std::fabs(value);
    if (!(magnitude >= std::numeric_limits<float>::min())) continue;
    const auto bin = static_cast<std::int64_t>(magnitude / upper * static_cast<float>(bins));
    ++histogram.counts[static_cast<std::size_t>(std::min(bin, bins - 1))];
  }
}

}  // namespace qtool
