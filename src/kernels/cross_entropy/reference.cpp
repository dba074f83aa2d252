#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cross_entropy/cross_entropy.h"

namespace qtool {

double reference_cross_entropy(const LevelledHistogram& histogram, std::int64_t kept, double tail) {
  const std::int64_t levels = histogram.levels;
  // In units of 1 / levels of a bin, bin b is [b levels, (b + 1) levels) and level l is
  // [l kept, (l + 1) kept).
  const auto overlap = [&](std::int64_t bin, std::int64_t level) {
    const std::int64_t from = std::max(bin * levels, level * kept);
    const std::int64_t to = std::min((bin + 1) * levels, (level + 1) * kept);
    return static_cast<double>(std::max<std::int64_t>(0, to - from)) / static_cast<double>(levels);
  };
  std::vector<double> means(static_cast<std::size_t>(levels));
  for (std::int64_t level = 0; level < levels; ++level) {
    double weight = 0.0;
    for (std::int64_t bin = level * kept / levels; bin < kept && overlap(bin, level) > 0.0; ++bin) {
      weight += overlap(bin, level) * histogram.weights[bin];
    }
    means[static_cast<std::size_t>(level)] =
        weight * static_cast<double>(levels) / static_cast<double>(kept);
  }
  double sum = 0.0;
  for (std::int64_t bin = 0; bin < kept; ++bin) {
    double q = 0.0;
    for (std::int64_t level = bin * levels / kept; level < levels && overlap(bin, level) > 0.0;
         ++level) {
      q += overlap(bin, level) * means[static_cast<std::size_t>(level)];
    }
    const double p = histogram.weights[bin] + histogram.smoothing + (bin == kept - 1 ? tail : 0.0);
    if (p > 0.0) sum += p * std::log(q + histogram.smoothing);
  }
  return sum;
}

}  // namespace qtool
