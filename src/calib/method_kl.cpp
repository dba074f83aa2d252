#include <algorithm>
#include <cmath>

#include "calib/kl_search.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"
#include "qtool/calib/method.h"

namespace qtool {
namespace {

constexpr std::int64_t kMostBins = 65536;

void check_options(const MethodOptions& options) {
  if (options.levels < 2 || options.levels > options.bins || options.bins > kMostBins) {
    throw Error(ErrorCode::kUsage,
                concat("method kl: found ", options.bins, " bins and ", options.levels,
                       " levels, expected 2 <= levels <= bins <= ", kMostBins));
  }
}

// Noise of quantizing magnitudes, each bin standing for its centre, with the step that `scheme`
// gives the range clipped at `threshold`.
double noise_at(const LinearHistogram& magnitudes, const Statistics& statistics, double threshold,
                const Scheme& scheme) {
  const Range range = clipped_range(statistics, threshold);
  const Limits limits = limits_of(scheme);
  const double span = scheme.symmetry == Symmetry::kSymmetric
                          ? 2.0 * std::max(-double{range.min}, double{range.max})
                          : double{range.max} - double{range.min};
  const double step = span / (limits.max - limits.min);
  const double width = magnitudes.width();
  double noise = 0.0;
  for (std::size_t bin = 0; bin < magnitudes.counts.size(); ++bin) {
    const double real = (static_cast<double>(bin) + 0.5) * width;
    const double error = real - step * std::nearbyint(std::min(real, threshold) / step);
    noise += static_cast<double>(magnitudes.counts[bin]) * error * error;
  }
  return noise;
}

}  // namespace

/// The threshold T at which quantizing |x| to 128 levels changes its distribution least.
/// Histogram of non-zero |x|; for each number of kept bins the divergence of the clipped
/// distribution from its quantized form (see KlSearch); T = (m + 0.5) w for the least one, and
/// max|x| when all bins are kept. Where T would quantize the histogram with more noise than max|x|
/// does, max|x| stands.
/// Uses bins and levels, and the scheme for that last comparison. Cost: 0.5 ms.
/// Source: Migacz, "8-bit inference with TensorRT", GTC 2017 (S7310). Differs from source: exact
/// zeros are left out and the first bin is no higher than the second, because a spike at zero,
/// which costs nothing to quantize, would otherwise drive the threshold down until a level is one
/// bin wide; candidates run to all bins inclusive; a level has whole bins.
Range method_kl(const Statistics& statistics, const MethodOptions& options) {
  check_options(options);
  const double absmax = statistics.absmax();
  if (absmax == 0.0) return {};
  LinearHistogram magnitudes = statistics.magnitudes(options.bins);
  magnitudes.counts[0] = std::min(magnitudes.counts[0], magnitudes.counts[1]);
  const std::int64_t kept = KlSearch(magnitudes.counts, options.levels).best();
  if (kept == options.bins) return statistics.range();
  const double threshold = (static_cast<double>(kept) + 0.5) * magnitudes.width();
  const bool worse = noise_at(magnitudes, statistics, threshold, options.scheme) >
                     noise_at(magnitudes, statistics, absmax, options.scheme);
  return worse ? statistics.range() : clipped_range(statistics, threshold);
}

}  // namespace qtool
