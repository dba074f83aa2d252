#include "calib/kl_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/logarithm.h"

namespace qtool {
namespace {

constexpr double kRejected = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-12;  // nats; rounding errors are 30 times smaller, mostly a hundred
// Candidates whose sums grow side by side, since an addition waits for the one before in its sum.
constexpr std::int64_t kAbreast = 4;

double x_log_x(double x) { return x * logarithm(x); }  // 0 for 0

// Sums over the first k bins, k = 0 .. bins.
struct Prefixes {
  std::vector<double> counts;
  std::vector<double> filled;   // bins that are not empty
  std::vector<double> entropy;  // of count * ln(count)

  explicit Prefixes(std::span<const std::int64_t> bins)
      : counts(bins.size() + 1), filled(bins.size() + 1), entropy(bins.size() + 1) {
    for (std::size_t j = 0; j < bins.size(); ++j) {
      const auto count = static_cast<double>(bins[j]);
      counts[j + 1] = counts[j] + count;
      filled[j + 1] = filled[j] + (bins[j] > 0 ? 1.0 : 0.0);
      entropy[j + 1] = entropy[j] + x_log_x(count);
    }
  }

  // ln of Q in the bins [begin, end) that form a level; of no use where all are empty. Without
  // branches, so that compilers make vectors of it.
  [[nodiscard]] double log_level(std::size_t begin, std::size_t end) const {
    const double full = filled[end] - filled[begin];
    return logarithm((counts[end] - counts[begin]) / (full + (full == 0.0 ? 1.0 : 0.0)));
  }
  // sum of P ln Q over each level of `width` bins: element i is that of [i, i + width).
  [[nodiscard]] std::vector<double> terms(std::size_t width) const {
    std::vector<double> all(counts.size() - width);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = (counts[i + width] - counts[i]) * log_level(i, i + width);
    }
    return all;
  }
};

// The walk of one candidate over its levels.
struct LevelSum {
  double terms = 0.0;
  std::int64_t place = 0;  // of the next level in `terms`, twice its first bin
  std::int64_t error = 0;  // level * extra, less `levels` for every bin added
};

// The terms of all levels of kAbreast candidates, from `extra` on.
// Candidates past the last one read terms past their end: `terms` is that much longer.
std::array<LevelSum, kAbreast> add_levels(const std::vector<double>& terms, std::int64_t levels,
                                          std::int64_t width, std::int64_t extra) {
  std::array<LevelSum, kAbreast> sums;
  for (std::int64_t level = 0; level < levels; ++level) {
    for (std::int64_t c = 0; c < kAbreast; ++c) {
      LevelSum& sum = sums[static_cast<std::size_t>(c)];
      sum.error += extra + c;
      const std::int64_t longer = sum.error > 0 ? 1 : 0;  // the level has a bin more than `width`
      sum.error -= levels & -longer;
      sum.terms += terms[static_cast<std::size_t>(sum.place + longer)];
      sum.place += 2 * (width + longer);
    }
  }
  return sums;
}

}  // namespace

KlSearch::KlSearch(std::span<const std::int64_t> counts, std::int64_t levels) : levels_(levels) {
  const auto bins = static_cast<std::int64_t>(counts.size());
  QTOOL_CHECK(levels >= 1 && bins >= levels);
  const Prefixes prefixes(counts);
  const double total = prefixes.counts.back();
  divergences_.assign(static_cast<std::size_t>(bins - levels + 1), kRejected);
  divergences_.back() = 0.0;
  if (total == 0.0) return;

  // A level of candidate i has floor(i / levels) bins or one more, and where it begins is all that
  // its term depends on. So terms are computed once per width and place, two widths side by side,
  // and every candidate of those widths adds up `levels` of them.
  std::vector<double> terms(static_cast<std::size_t>(2 * (bins + levels + kAbreast)));
  std::vector<double> longer = prefixes.terms(1);
  for (std::int64_t width = 1; width * levels <= bins; ++width) {
    const std::vector<double> shorter = std::move(longer);
    longer = prefixes.terms(static_cast<std::size_t>(width) + 1);
    for (std::size_t begin = 0; begin < shorter.size(); ++begin) {
      terms[2 * begin] = shorter[begin];
      terms[2 * begin + 1] = begin < longer.size() ? longer[begin] : shorter[begin];
    }
    // Every candidate of the width is i = width * levels + extra.
    const std::int64_t candidates = std::min(levels, bins - width * levels + 1);
    for (std::int64_t extra = 0; extra < candidates; extra += kAbreast) {
      const auto sums = add_levels(terms, levels, width, extra);
      const std::int64_t abreast = std::min(kAbreast, candidates - extra);
      for (std::int64_t c = 0; c < abreast; ++c) {
        const std::int64_t kept = width * levels + extra + c;
        const LevelSum& sum = sums[static_cast<std::size_t>(c)];
        const auto end = static_cast<std::size_t>(kept);
        const double tail = total - prefixes.counts[end];
        const auto edge = static_cast<double>(counts[end - 1]);
        if (edge == 0.0 && tail > 0.0) continue;
        double cross = sum.terms;
        double self = prefixes.entropy[end];
        if (tail > 0.0) {  // it joins the last level, which always has `width` bins
          cross += tail * prefixes.log_level(static_cast<std::size_t>(kept - width), end);
          self += x_log_x(edge + tail) - x_log_x(edge);
        }
        divergences_[static_cast<std::size_t>(kept - levels)] =
            (self - cross) / total + logarithm((total - tail) / total);
      }
    }
  }
}

std::int64_t KlSearch::best() const noexcept {
  double least = kRejected;
  for (const double divergence : divergences_) least = std::min(least, divergence);
  std::size_t best = divergences_.size() - 1;
  if (least < kRejected) {
    while (divergences_[best] > least + kTie) --best;
  }
  return levels_ + static_cast<std::int64_t>(best);
}

}  // namespace qtool
