#include "qtool/quant/histogram.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

constexpr float kSmallestNormal = std::numeric_limits<float>::min();
constexpr int kLowestExponent = -101;  // keeps 1 / cell width a normal float
constexpr std::int64_t kMostRecent = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostBins = std::int64_t{1} << 20;

float flushed(float value) { return std::fabs(value) < kSmallestNormal ? 0.0F : value; }

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
  const CountingGrid grid = prepare(lowest, highest, finite);
  std::int64_t zeros = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    if (flushed(value) == 0.0F) {
      ++zeros;
    } else {
      const auto cell = static_cast<std::int32_t>(value * grid.cells_per_unit);
      ++grid.origin[cell - (value < 0.0F ? 1 : 0)];
    }
  }
  add_zeros(zeros);
}

CountingGrid FloatHistogram::prepare(float lowest, float highest, std::int64_t count) {
  QTOOL_CHECK(count <= kMostRecent);
  count_ += count;
  include(flushed(lowest), flushed(highest));
  if (counts_.empty()) return {};
  if (recent_ + count > kMostRecent) archive();
  recent_ += count;
  return {static_cast<float>(1.0 / cell_width()), counts_.data() + origin()};
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
    counts_.assign(static_cast<std::size_t>(kCells), 0);
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

double QuantizationEffect::sqnr_db() const noexcept {
  return noise > 0.0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

QuantizationEffect quantization_effect(const FloatHistogram& histogram, const Affine& affine,
                                       const Limits& limits) {
  QuantizationEffect effect;
  const Range represented = represented_range(affine, limits);
  const double half_step = 0.5 * static_cast<double>(affine.scale);
  const double width = histogram.cell_width();
  std::int64_t saturated = 0;
  for (std::int64_t cell = histogram.first_cell(); cell < histogram.end_cell(); ++cell) {
    const std::int64_t count = histogram.cell_count(cell);
    if (count == 0) continue;
    const double from = std::max(static_cast<double>(cell) * width, double{histogram.min()});
    const double to = std::min(static_cast<double>(cell + 1) * width, double{histogram.max()});
    const auto centre = static_cast<float>(0.5 * (from + to));
    const double real = centre;
    const double error = real - dequantize_value(quantize_value(centre, affine, limits), affine);
    effect.signal += static_cast<double>(count) * real * real;
    effect.noise += static_cast<double>(count) * error * error;
    if (real > represented.max + half_step || real < represented.min - half_step) {
      saturated += count;
    }
  }
  if (histogram.count() > 0) {
    effect.saturated_share =
        static_cast<double>(saturated) / static_cast<double>(histogram.count());
  }
  return effect;
}

}  // namespace qtool
