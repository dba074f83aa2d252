#include "calib/methods/whole_bin_kl.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "kernels/cross_entropy/cross_entropy.h"

namespace qtool {
namespace {

constexpr double kRejected = std::numeric_limits<double>::infinity();
// Candidates that are summed side by side, because each addition to a sum must wait for the
// previous addition to the same sum.
constexpr std::int64_t kAbreast = 4;
constexpr std::int64_t kMaxCounts = std::int64_t{1} << 17;

// Prefix sums over the bins. Element k is the sum over the first k bins, k = 0 .. bins.
class Prefixes {
 public:
  explicit Prefixes(std::span<const std::int64_t> bins)
      : counts_(bins.size() + 1), filled_(bins.size() + 1) {
    for (std::size_t j = 0; j < bins.size(); ++j) {
      counts_[j + 1] = counts_[j] + static_cast<double>(bins[j]);
      filled_[j + 1] = filled_[j] + (bins[j] > 0 ? 1.0 : 0.0);
    }
  }

  [[nodiscard]] std::size_t bins() const { return counts_.size() - 1; }
  [[nodiscard]] double total() const { return counts_.back(); }
  [[nodiscard]] double count(std::size_t begin, std::size_t end) const {
    return counts_[end] - counts_[begin];
  }
  /// The value of Q, not normalised, in a level that consists of the bins [begin, end). 0 if all
  /// these bins are empty.
  [[nodiscard]] double level(std::size_t begin, std::size_t end) const {
    const double filled = filled_[end] - filled_[begin];
    return count(begin, end) / (filled + (filled == 0.0 ? 1.0 : 0.0));
  }
  /// The sum of P ln Q over every possible level of `width` bins. Element i is for the bins [i, i +
  /// width).
  [[nodiscard]] std::vector<double> terms(std::size_t width,
                                          const CrossEntropyKernel& kernel) const {
    std::vector<double> all(counts_.size() - width);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = level(i, i + width);
    kernel.logarithms(all);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] *= count(i, i + width);
    return all;
  }

 private:
  std::vector<double> counts_;
  std::vector<double> filled_;  // bins that are not empty
};

// Adds up the terms of all levels for kAbreast candidates, which keep `kept`, kept + 1, ... bins.
// Level l of a candidate that keeps k bins is [begin, end) with begin = ceil(l k / levels) and end
// = ceil((l + 1) k / levels). Its term is terms[begin + end]. Candidates beyond the last one read
// beyond the end of the terms, so `terms` is longer by that.
std::array<double, kAbreast> add_levels(const std::vector<double>& terms, std::int64_t levels,
                                        std::int64_t kept) {
  // Positions are in units of 2^-44 bins. 1 - 1 / (2 levels) is added, so that rounding down gives
  // the ceil above. The position of an edge is then at least 2^-18 bins away from every whole
  // number. Rounding the steps loses less than 2^-27 bins in all.
  constexpr int kFractionBits = 44;
  constexpr std::int64_t kBin = std::int64_t{1} << kFractionBits;
  std::array<double, kAbreast> sums{};
  std::array<std::int64_t, kAbreast> steps{};
  std::array<std::int64_t, kAbreast> positions{};
  std::array<std::int64_t, kAbreast> begins{};
  for (std::size_t c = 0; c < sums.size(); ++c) {
    steps[c] = (kept + static_cast<std::int64_t>(c)) * kBin / levels;
    positions[c] = kBin - kBin / (2 * levels);
  }
  for (std::int64_t level = 0; level < levels; ++level) {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      positions[c] += steps[c];
      const std::int64_t end = positions[c] >> kFractionBits;
      sums[c] += terms[static_cast<std::size_t>(begins[c] + end)];
      begins[c] = end;
    }
  }
  return sums;
}

// D of all candidates, beginning with the candidate that keeps `levels` bins, without the terms of
// their levels. D is infinite for rejected candidates. `entropy` holds P ln P of every bin.
std::vector<double> without_levels(const Prefixes& prefixes, std::span<const double> entropy,
                                   std::size_t levels, const CrossEntropyKernel& kernel) {
  const double total = prefixes.total();
  const std::size_t candidates = prefixes.bins() - levels + 1;
  std::vector<double> shares(candidates);  // share of all values that is kept
  std::vector<double> edges(candidates);   // the last kept bin plus the tail
  std::vector<double> lasts(candidates);   // Q of the last level, which has kept / levels bins
  for (std::size_t i = 0; i < candidates; ++i) {
    const std::size_t kept = levels + i;
    shares[i] = prefixes.count(0, kept) / total;
    edges[i] = prefixes.count(kept - 1, prefixes.bins());
    lasts[i] = prefixes.level(kept - kept / levels, kept);
  }
  std::vector<double> edge_logs = edges;
  for (std::vector<double>* const values : {&shares, &edge_logs, &lasts}) {
    kernel.logarithms(*values);
  }
  std::vector<double> divergences(candidates);
  // The sum of P ln P over all kept bins except the last one, to which the tail is added.
  double inner =
      std::accumulate(entropy.begin(), entropy.begin() + std::ptrdiff_t(levels) - 1, 0.0);
  for (std::size_t i = 0; i < candidates; ++i) {
    const std::size_t kept = levels + i;
    const double tail = prefixes.count(kept, prefixes.bins());
    const double self = inner + edges[i] * edge_logs[i];
    inner += entropy[kept - 1];
    const bool rejected = tail > 0.0 && edges[i] == tail;
    divergences[i] = rejected ? kRejected : (self - tail * lasts[i]) / total + shares[i];
  }
  return divergences;
}

}  // namespace

WholeBinKl::WholeBinKl(std::span<const std::int64_t> counts, std::int64_t levels) {
  const auto bins = static_cast<std::int64_t>(counts.size());
  QTOOL_CHECK(levels >= 1 && bins >= levels && bins <= kMaxCounts);
  const CrossEntropyKernel kernel;
  const Prefixes prefixes(counts);
  const double total = prefixes.total();
  if (total == 0.0) {
    divergences_.assign(static_cast<std::size_t>(bins - levels + 1), kRejected);
    divergences_.back() = 0.0;
    return;
  }
  std::vector<double> longer = prefixes.terms(1, kernel);
  divergences_ = without_levels(prefixes, longer, static_cast<std::size_t>(levels), kernel);

  // A level of candidate i has floor(i / levels) bins or one more. For a given width, its term
  // depends only on its first bin. The terms are therefore computed once per width and position,
  // for two widths at a time. Every candidate with levels of these widths adds up `levels` terms.
  std::vector<double> terms(static_cast<std::size_t>(2 * (bins + kAbreast)));
  for (std::int64_t width = 1; width * levels <= bins; ++width) {
    const std::vector<double> shorter = std::move(longer);
    longer = prefixes.terms(static_cast<std::size_t>(width) + 1, kernel);
    double* const interleaved = terms.data() + width;
    for (std::size_t begin = 0; begin < longer.size(); ++begin) {
      interleaved[2 * begin] = shorter[begin];
      interleaved[2 * begin + 1] = longer[begin];
    }
    interleaved[2 * longer.size()] = shorter.back();
    const std::int64_t end = std::min((width + 1) * levels, bins + 1);
    for (std::int64_t kept = width * levels; kept < end; kept += kAbreast) {
      const std::array<double, kAbreast> sums = add_levels(terms, levels, kept);
      const std::int64_t abreast = std::min(kAbreast, end - kept);
      for (std::int64_t c = 0; c < abreast; ++c) {
        divergences_[static_cast<std::size_t>(kept - levels + c)] -=
            sums[static_cast<std::size_t>(c)] / total;
      }
    }
  }
}

}  // namespace qtool
