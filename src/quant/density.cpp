#include "quant/density.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtool {
namespace {

// Moments of `count` values spread evenly over [from, to].
Moments even(double count, double from, double to) {
  return {count, count * 0.5 * (from + to), count * (from * from + from * to + to * to) / 3.0};
}

}  // namespace

double Moments::noise_around(double real) const noexcept {
  // Cancellation may leave a tiny negative number.
  return std::max(0.0, squares - 2.0 * real * sum + real * real * count);
}

double QuantizationEffect::sqnr_db() const noexcept {
  return noise > 0.0 ? 10.0 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

Density::Density(const FloatHistogram& histogram)
    : width_(histogram.cell_width()),
      cells_per_unit_(width_ > 0.0 ? 1.0 / width_ : 0.0),  // exact: the width is a power of two
      first_(histogram.first_cell()),
      count_(histogram.count()),
      zeros_(histogram.zeros()),
      min_(histogram.min()),
      max_(histogram.max()) {
  const std::vector<std::int64_t> cells = histogram.cells();
  before_.resize(cells.size() + 1);
  Moments all;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::int64_t cell = first_ + static_cast<std::int64_t>(i);
    if (cells[i] > 0) {
      all = all + even(static_cast<double>(cells[i]), cell_from(cell), cell_to(cell));
    }
    before_[i + 1] = all;
  }
}

double Density::cell_from(std::int64_t cell) const noexcept {
  return std::max(static_cast<double>(cell) * width_, min_);
}

double Density::cell_to(std::int64_t cell) const noexcept {
  return std::min(static_cast<double>(cell + 1) * width_, max_);
}

Moments Density::below(double x) const noexcept {
  const auto cells = static_cast<std::int64_t>(before_.size()) - 1;
  if (cells == 0 || x <= static_cast<double>(first_) * width_) return {};
  if (x >= static_cast<double>(first_ + cells) * width_) return before_.back();
  const auto index = static_cast<std::int64_t>(std::floor(x * cells_per_unit_)) - first_;
  const std::int64_t i = std::clamp<std::int64_t>(index, 0, cells - 1);
  const Moments& before = before_[static_cast<std::size_t>(i)];
  const double count = before_[static_cast<std::size_t>(i) + 1].count - before.count;
  const double from = cell_from(first_ + i);
  const double to = cell_to(first_ + i);
  if (count == 0.0 || x <= from) return before;
  if (x >= to) return before_[static_cast<std::size_t>(i) + 1];
  return before + even(count * (x - from) / (to - from), from, x);
}

Moments Density::total() const noexcept {
  Moments all = before_.back();
  all.count = static_cast<double>(count_);
  return all;
}

double Density::quantile(double share) const noexcept {
  const double wanted = share * static_cast<double>(count_);
  // In sorted order, zeros come between the negative and the positive cells.
  const double negative = below(0.0).count;
  const auto zeros = static_cast<double>(zeros_);
  if (wanted > negative && wanted <= negative + zeros) return 0.0;
  const double rank = wanted <= negative ? wanted : wanted - zeros;
  const auto upper = std::lower_bound(
      before_.begin() + 1, before_.end(), rank,
      [](const Moments& before, double counted) { return before.count < counted; });
  if (upper == before_.end()) return max_;
  const auto i = static_cast<std::int64_t>(upper - before_.begin()) - 1;
  const double before = before_[static_cast<std::size_t>(i)].count;
  const double count = upper->count - before;
  const double from = cell_from(first_ + i);
  if (count == 0.0) return from;
  return from + (cell_to(first_ + i) - from) * std::clamp((rank - before) / count, 0.0, 1.0);
}

double Density::mean_deviation(double centre) const noexcept {
  if (count_ == 0) return 0.0;
  const Moments low = below(centre);
  const Moments high = before_.back() - low;
  const double sum = centre * low.count - low.sum + high.sum - centre * high.count +
                     std::abs(centre) * static_cast<double>(zeros_);
  return sum / static_cast<double>(count_);
}

// Calls visit(q, moments of the values that round to q) for the integers from that of the smallest
// to that of the largest value.
template <typename Visit>
void Density::each_level(double scale, std::int32_t low, std::int32_t high,
                         Visit visit) const noexcept {
  const auto nearest = [&](double x) {
    const double q = std::nearbyint(x / scale);
    return static_cast<std::int32_t>(std::clamp<double>(q, low, high));
  };
  const std::int32_t first = nearest(min_);
  const std::int32_t last = nearest(max_);
  Moments before;
  for (std::int32_t q = first; q <= last; ++q) {
    const Moments upto = q == last ? before_.back() : below((q + 0.5) * scale);
    visit(q, upto - before);
    before = upto;
  }
}

Density::Projection Density::project(double scale, std::int32_t low,
                                     std::int32_t high) const noexcept {
  Projection result;
  each_level(scale, low, high, [&](std::int32_t q, const Moments& values) {
    result.xq += q * values.sum;
    result.qq += static_cast<double>(q) * q * values.count;
  });
  return result;
}

double Density::noise(double scale, std::int32_t low, std::int32_t high) const noexcept {
  double noise = 0.0;
  each_level(scale, low, high, [&](std::int32_t q, const Moments& values) {
    noise += values.noise_around(scale * q);
  });
  return noise;
}

QuantizationEffect Density::effect(const Affine& affine, const Limits& limits) const noexcept {
  QuantizationEffect effect;
  effect.signal = before_.back().squares;
  const double scale = affine.scale;
  const std::int32_t low = limits.min - affine.zero_point;
  const std::int32_t high = limits.max - affine.zero_point;
  effect.noise = noise(scale, low, high);
  const Moments under = below(low * scale);
  const Moments over = before_.back() - below(high * scale);
  effect.clipping =
      std::min(effect.noise, under.noise_around(low * scale) + over.noise_around(high * scale));
  const double kept = below((high + 0.5) * scale).count - below((low - 0.5) * scale).count;
  if (count_ > 0) {
    effect.saturated_share =
        std::max(0.0, before_.back().count - kept) / static_cast<double>(count_);
  }
  return effect;
}

}  // namespace qtool
