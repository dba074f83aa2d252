#include "calib/fractional_kl.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "calib/log_table.h"

namespace qtool {
FractionalKl::FractionalKl(std::span<const double> weights, std::int64_t levels, double smoothing)
    : levels_(levels) {
  const auto bins = static_cast<std::int64_t>(weights.size());
  QTOOL_CHECK(levels >= 1 && bins > levels);
  const LogTable& log = log_table();
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> before(weights.size() + 1);   // sum of the bins below
  std::vector<double> entropy(weights.size() + 1);  // of p ln p, smoothed
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double p = weights[j] + smoothing;
    before[j + 1] = before[j] + weights[j];
    entropy[j + 1] = entropy[j] + p * std::log(p);
  }
  std::vector<double> padded(weights.begin(), weights.end());
  padded.push_back(0.0);  // behind the last bin, of which nothing is ever taken
  const double per_level = 1.0 / static_cast<double>(levels);
  divergences_.reserve(at(bins - levels));
  for (std::int64_t kept = levels; kept < bins; ++kept) {
    const double edge = weights[at(kept - 1)] + smoothing;
    const double tail = before[at(bins)] - before[at(kept)];
    double divergence = entropy[at(kept)] - edge * log(edge) + (edge + tail) * log(edge + tail);
    const double per_bin = static_cast<double>(levels) / static_cast<double>(kept);
    double weight_before = 0.0;  // below the level's start
    double earlier = 0.0;        // mean weight of the level before
    double earlier_part = 0.0;   // how much of the bin cut by the start belongs to that level
    std::int64_t whole = 0;      // first bin that begins inside the level
    // The level ends at (level + 1) kept / levels: `end` whole bins and `part` / levels of the
    // next. Without branches on `part`, which follows no pattern that a processor could learn.
    const std::int64_t width = kept / levels;
    const std::int64_t rest = kept % levels;
    std::int64_t end = 0;
    std::int64_t part = 0;
    double cross = 0.0;
    for (std::int64_t level = 0; level < levels; ++level) {
      part += rest;
      const std::int64_t over = part >= levels ? 1 : 0;
      part -= over * levels;
      end += width + over;
      const double cut = static_cast<double>(part) * per_level;
      const double upto = before[at(end)] + cut * padded[at(end)];
      const double mean = (upto - weight_before) * per_bin;
      // The bin cut by the start of the level; none, and of no weight, where it starts with a bin.
      const double shared = earlier_part * earlier + (1.0 - earlier_part) * mean;
      const double weight =
          earlier_part > 0.0 ? padded[at(std::max<std::int64_t>(whole, 1) - 1)] + smoothing : 0.0;
      cross += weight * log(shared + smoothing);
      const double inside = before[at(end)] - before[at(whole)] +
                            smoothing * static_cast<double>(end - whole) +
                            (level == levels - 1 ? tail : 0.0);
      cross += inside * log(mean + smoothing);
      weight_before = upto;
      earlier = mean;
      earlier_part = cut;
      whole = end + (part > 0 ? 1 : 0);
    }
    divergence -= cross;
    divergences_.push_back(divergence);
  }
}

std::int64_t FractionalKl::best() const noexcept {
  return levels_ +
         (std::min_element(divergences_.begin(), divergences_.end()) - divergences_.begin());
}

}  // namespace qtool
