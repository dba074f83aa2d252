#include "qtool/quant/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

// A block stays in the first-level cache between its two passes: extremes, then cells.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kLanes = 4;
constexpr float kSmallestNormal = std::numeric_limits<float>::min();
constexpr int kLowestExponent = -101;  // keeps 1 / cell width a normal float
constexpr std::int64_t kMostRecent = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostBins = std::int64_t{1} << 20;

// Four values at once on every compiler and machine, without an instruction set of its own.
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

Floats load(const float* values) {
  Floats lanes;
  std::memcpy(&lanes, values, sizeof(lanes));
  return lanes;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Extremes {
  float lowest = kInfinity;
  float highest = -kInfinity;
  bool finite = true;
};

float flushed(float value) { return std::fabs(value) < kSmallestNormal ? 0.0F : value; }

Extremes extremes_of(const float* values, std::int64_t count) {
  constexpr std::int64_t kChains = 4;  // hides the latency of min and max
  std::array<Floats, kChains> low;
  std::array<Floats, kChains> high;
  low.fill(Floats{} + kInfinity);
  high.fill(Floats{} - kInfinity);
  Ints unordered{};
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      const Floats v = load(values + i + static_cast<std::int64_t>(chain) * kLanes);
      low[chain] = v < low[chain] ? v : low[chain];
      high[chain] = v > high[chain] ? v : high[chain];
      unordered |= v != v;
    }
  }
  Extremes result;
  bool nan = false;
  for (std::size_t chain = 0; chain < kChains; ++chain) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      result.lowest = std::min(result.lowest, low[chain][lane]);
      result.highest = std::max(result.highest, high[chain][lane]);
    }
  }
  for (std::int64_t lane = 0; lane < kLanes; ++lane) nan = nan || unordered[lane] != 0;
  for (; i < count; ++i) {
    result.lowest = std::min(result.lowest, values[i]);
    result.highest = std::max(result.highest, values[i]);
    nan = nan || std::isnan(values[i]);
  }
  result.finite = !nan && std::isfinite(result.lowest) && std::isfinite(result.highest);
  result.lowest = flushed(result.lowest);
  result.highest = flushed(result.highest);
  return result;
}

// The cells of four values. A zero goes to one of kLanes extra cells by lane: the processor waits
// for the previous increment of the same place, and zeros come in runs.
template <bool kNegatives>
Ints cells_of(Floats v, float cells_per_unit) {
  constexpr auto kZeroCell = static_cast<std::int32_t>(FloatHistogram::kCells);
  constexpr Ints kZeroCells = {kZeroCell, kZeroCell + 1, kZeroCell + 2, kZeroCell + 3};
  Ints cell = __builtin_convertvector(v * cells_per_unit, Ints);
  Ints zero = v < kSmallestNormal;
  if constexpr (kNegatives) {
    const Ints negative = v <= -kSmallestNormal;  // all ones, that is -1, where true
    cell += negative;
    zero &= ~negative;
  }
  return cell | (zero & kZeroCells);  // `cell` is 0 for a zero
}

// Adds one to the cell of each value; without kNegatives none may be negative.
template <bool kNegatives>
void count_cells(const float* values, std::int64_t count, float cells_per_unit,
                 std::uint32_t* origin) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    // Two cells per register: half the moves out of the vector.
    const auto pairs = std::bit_cast<std::array<std::int64_t, 2>>(
        cells_of<kNegatives>(load(values + i), cells_per_unit));
    for (const std::int64_t pair : pairs) {
      ++origin[static_cast<std::int32_t>(pair)];
      ++origin[pair >> 32];
    }
  }
  for (; i < count; ++i) {
    const Floats lanes = {values[i], 0.0F, 0.0F, 0.0F};
    ++origin[cells_of<kNegatives>(lanes, cells_per_unit)[0]];
  }
}

// Moves every count to cell >> shift, which pairs the cells of both signs from zero outwards.
template <typename Count>
void coarsen(Count* origin, std::int64_t first, std::int64_t end, int shift) {
  for (std::int64_t cell = 0; cell < end; ++cell) {
    const Count moved = std::exchange(origin[cell], Count{0});
    origin[cell >> shift] += moved;
  }
  for (std::int64_t cell = -1; cell >= first; --cell) {
    const Count moved = std::exchange(origin[cell], Count{0});
    origin[cell >> shift] += moved;
  }
}

// Adds `count` values spread evenly over [from, to] to the bins they fall into.
void distribute(std::int64_t count, double from, double to, LinearHistogram& histogram) {
  const double width = histogram.width();
  const auto bins = static_cast<std::int64_t>(histogram.counts.size());
  if (!(width > 0.0)) {  // one value only: it has no inside to spread over
    histogram.counts[0] += count;
    return;
  }
  const double start = (from - histogram.lower) / width;
  const double stop = (to - histogram.lower) / width;
  const auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(start), 0, bins - 1);
  const auto last =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(stop)) - 1, first, bins - 1);
  std::int64_t given = 0;
  for (std::int64_t bin = first; bin < last; ++bin) {
    const double share = (static_cast<double>(bin + 1) - start) / (stop - start);
    const auto upto = static_cast<std::int64_t>(static_cast<double>(count) * share + 0.5);
    histogram.counts[static_cast<std::size_t>(bin)] += upto - given;
    given = upto;
  }
  histogram.counts[static_cast<std::size_t>(last)] += count - given;
}

LinearHistogram empty_histogram(double lower, double upper, std::int64_t bins) {
  if (bins < 1 || bins > kMostBins) {
    throw Error(ErrorCode::kInvalidArgument,
                concat("histogram: found ", bins, " bins, expected 1 to ", kMostBins));
  }
  return {lower, upper, std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
}

}  // namespace

void FloatHistogram::observe(std::span<const float> values) {
  const auto total = static_cast<std::int64_t>(values.size());
  for (std::int64_t begin = 0; begin < total; begin += kBlock) {
    observe_block(values.data() + begin, std::min(kBlock, total - begin));
  }
}

void FloatHistogram::observe_block(const float* values, std::int64_t count) {
  const Extremes extremes = extremes_of(values, count);
  if (!extremes.finite) {
    std::array<float, kBlock> finite;
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isfinite(values[i])) finite[static_cast<std::size_t>(kept++)] = values[i];
    }
    nonfinite_ += count - kept;
    if (kept > 0) observe_block(finite.data(), kept);
    return;
  }
  count_ += count;
  include(extremes.lowest, extremes.highest);
  if (counts_.empty()) {
    zeros_ += count;
    return;
  }
  if (recent_ + count > kMostRecent) archive();
  recent_ += count;
  std::uint32_t* const base = counts_.data() + origin();
  const auto cells_per_unit = static_cast<float>(1.0 / cell_width());
  if (extremes.lowest < 0.0F) {
    count_cells<true>(values, count, cells_per_unit, base);
  } else {
    count_cells<false>(values, count, cells_per_unit, base);
  }
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    zeros_ += std::exchange(base[kCells + lane], 0U);
  }
}

void FloatHistogram::include(float lowest, float highest) {
  min_ = std::min(min_, lowest);
  max_ = std::max(max_, highest);
  const float largest = absmax();
  if (largest == 0.0F) return;
  int exponent = 0;
  static_cast<void>(std::frexp(largest, &exponent));  // largest < 2^exponent
  exponent = std::max(exponent, kLowestExponent);
  if (counts_.empty()) {
    counts_.assign(static_cast<std::size_t>(kCells + kLanes), 0);
    exponent_ = exponent;
  }
  if (min_ < 0.0F && !has_negative_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(kCells), 0);
    if (!archived_.empty()) {
      archived_.insert(archived_.begin(), static_cast<std::size_t>(kCells), 0);
    }
    has_negative_ = true;
  }
  if (exponent > exponent_) {
    const int shift = std::min(exponent - exponent_, kGridBits);
    coarsen(counts_.data() + origin(), -origin(), kCells, shift);
    if (!archived_.empty()) coarsen(archived_.data() + origin(), -origin(), kCells, shift);
    exponent_ = exponent;
  }
}

// Makes room in the 32-bit counts.
void FloatHistogram::archive() {
  if (archived_.empty()) archived_.assign(counts_.size(), 0);
  for (std::size_t i = 0; i < counts_.size(); ++i) archived_[i] += std::exchange(counts_[i], 0U);
  recent_ = 0;
}

void FloatHistogram::merge(const FloatHistogram& other) {
  count_ += other.count_;
  zeros_ += other.zeros_;
  nonfinite_ += other.nonfinite_;
  if (other.count_ > 0) include(other.min_, other.max_);
  if (other.counts_.empty()) return;
  const int shift = std::min(exponent_ - other.exponent_, kGridBits);
  const bool fits = other.archived_.empty() && recent_ + other.recent_ <= kMostRecent;
  if (!fits) {
    archive();
  } else {
    recent_ += other.recent_;
  }
  const std::uint32_t* const from = other.counts_.data() + other.origin();
  const std::int64_t first = other.first_cell();
  const std::int64_t end = other.end_cell();
  if (fits) {
    std::uint32_t* const to = counts_.data() + origin();
    for (std::int64_t cell = first; cell < end; ++cell) to[cell >> shift] += from[cell];
    return;
  }
  std::int64_t* const to = archived_.data() + origin();
  for (std::int64_t cell = first; cell < end; ++cell) to[cell >> shift] += other.cell_count(cell);
}

float FloatHistogram::min() const noexcept { return count_ > 0 ? min_ : 0.0F; }
float FloatHistogram::max() const noexcept { return count_ > 0 ? max_ : 0.0F; }
float FloatHistogram::absmax() const noexcept { return std::max(-min(), max()); }

double FloatHistogram::cell_width() const noexcept {
  return counts_.empty() ? 0.0 : std::ldexp(1.0, exponent_ - kGridBits);
}

std::int64_t FloatHistogram::cell_count(std::int64_t cell) const noexcept {
  if (counts_.empty() || cell < -origin() || cell >= kCells) return 0;
  const auto place = static_cast<std::size_t>(cell + origin());
  return counts_[place] + (archived_.empty() ? 0 : archived_[place]);
}

std::int64_t FloatHistogram::first_cell() const noexcept {
  return has_negative_ ? -static_cast<std::int64_t>(-min_ / cell_width()) - 1 : 0;
}

std::int64_t FloatHistogram::end_cell() const noexcept {
  return max_ > 0.0F ? static_cast<std::int64_t>(max_ / cell_width()) + 1 : 0;
}

FloatHistogram FloatHistogram::from_cells(float min, float max, std::int64_t zeros,
                                          std::span<const std::int64_t> cells) {
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorCode::kInvalidArgument, concat("histogram: ", what));
  };
  FloatHistogram histogram;
  if (!std::isfinite(min) || !std::isfinite(max) || min > max || zeros < 0) {
    refuse("expected finite extremes in order and a count of zeros");
  }
  histogram.zeros_ = zeros;
  histogram.count_ = zeros;
  for (const std::int64_t count : cells) {
    if (count < 0 || count > std::numeric_limits<std::int64_t>::max() - histogram.count_) {
      refuse("a count is negative or too large");
    }
    histogram.count_ += count;
  }
  if (histogram.count_ == 0) {
    if (!cells.empty()) refuse("found cells without values");
    return histogram;
  }
  histogram.include(flushed(min), flushed(max));
  const std::int64_t first = histogram.first_cell();
  if (static_cast<std::int64_t>(cells.size()) != histogram.end_cell() - first) {
    refuse(concat("found ", cells.size(), " cells, expected ", histogram.end_cell() - first));
  }
  if (cells.empty()) return histogram;
  const std::int64_t counted = histogram.count_ - zeros;
  if (counted > kMostRecent) histogram.archive();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto place =
        static_cast<std::size_t>(first + histogram.origin() + static_cast<std::int64_t>(i));
    if (counted > kMostRecent) {
      histogram.archived_[place] = cells[i];
    } else {
      histogram.counts_[place] = static_cast<std::uint32_t>(cells[i]);
    }
  }
  histogram.recent_ = counted > kMostRecent ? 0 : counted;
  return histogram;
}

bool operator==(const FloatHistogram& a, const FloatHistogram& b) noexcept {
  if (a.count_ != b.count_ || a.zeros_ != b.zeros_ || a.nonfinite_ != b.nonfinite_ ||
      a.min() != b.min() || a.max() != b.max() || a.exponent_ != b.exponent_) {
    return false;
  }
  for (std::int64_t cell = a.first_cell(); cell < a.end_cell(); ++cell) {
    if (a.cell_count(cell) != b.cell_count(cell)) return false;
  }
  return true;
}

std::int64_t LinearHistogram::total() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

LinearHistogram magnitude_histogram(const FloatHistogram& histogram, std::int64_t bins) {
  const double absmax = histogram.absmax();
  LinearHistogram result = empty_histogram(0.0, absmax, bins);
  const double width = histogram.cell_width();
  const std::int64_t end = std::max(histogram.end_cell(), -histogram.first_cell());
  for (std::int64_t cell = 0; cell < end; ++cell) {
    const std::int64_t count = histogram.cell_count(cell) + histogram.cell_count(-1 - cell);
    const double from = static_cast<double>(cell) * width;
    if (count > 0) distribute(count, from, std::min(from + width, absmax), result);
  }
  return result;
}

void count_magnitudes(std::span<const float> values, LinearHistogram& histogram) {
  const auto bins = static_cast<std::int64_t>(histogram.counts.size());
  const auto upper = static_cast<float>(histogram.upper);
  if (bins == 0 || !(upper > 0.0F)) return;
  for (const float value : values) {
    const float magnitude = std::fabs(value);
    if (!(magnitude >= kSmallestNormal)) continue;
    const auto bin = static_cast<std::int64_t>(magnitude / upper * static_cast<float>(bins));
    ++histogram.counts[static_cast<std::size_t>(std::min(bin, bins - 1))];
  }
}

LinearHistogram value_histogram(const FloatHistogram& histogram, std::int64_t bins) {
  LinearHistogram result = empty_histogram(histogram.min(), histogram.max(), bins);
  const double width = histogram.cell_width();
  for (std::int64_t cell = histogram.first_cell(); cell < histogram.end_cell(); ++cell) {
    const std::int64_t count = histogram.cell_count(cell);
    const double from = static_cast<double>(cell) * width;
    if (count > 0) {
      distribute(count, std::max(from, result.lower), std::min(from + width, result.upper), result);
    }
  }
  return result;
}

}  // namespace qtool
