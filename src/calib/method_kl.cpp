#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "calib/kl_search.h"
#include "calib/scale_search.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"
#include "qtool/calib/method.h"

namespace qtool {
namespace {

constexpr std::int64_t kMostBins = 65536;
constexpr double kMostExcess = 1.2589254117941673;  // 1 dB
// Of the search for the quietest threshold.
constexpr int kGrid = 32;
constexpr int kSteps = 10;

void check_options(const MethodOptions& options) {
  if (options.levels < 2 || options.levels > options.bins || options.bins > kMostBins) {
    throw Error(ErrorCode::kUsage,
                concat("method kl: found ", options.bins, " bins and ", options.levels,
                       " levels, expected 2 <= levels <= bins <= ", kMostBins));
  }
}

// The noise of quantizing magnitudes, each bin standing for its centre, in squares of a bin's
// width.
class ClippingNoise {
 public:
  ClippingNoise(const LinearHistogram& magnitudes, const Statistics& statistics,
                const Scheme& scheme)
      : statistics_(statistics), scheme_(scheme), width_(magnitudes.width()) {
    before_.reserve(magnitudes.counts.size() + 1);
    Moments all;
    for (const std::int64_t values : magnitudes.counts) {
      const auto count = static_cast<double>(values);
      const double centre = static_cast<double>(before_.size()) + 0.5;
      before_.push_back(all);
      all = all + Moments{count, count * centre, count * centre * centre};
      if (values > 0) ++filled_;
    }
    before_.push_back(all);
  }

  // With the step that the scheme gives the range clipped at `threshold`. Cost: constant per level.
  [[nodiscard]] double at(double threshold) const {
    const Range range = clipped_range(statistics_, threshold);
    const double step = exact_step(range, scheme_) / width_;
    if (!(step > 0.0)) return std::numeric_limits<double>::infinity();
    const Limits limits = limits_of(scheme_);
    const double last =
        std::min<double>(std::nearbyint(threshold / width_ / step), limits.max - limits.min);
    double noise = 0.0;
    Moments low;
    for (std::int32_t level = 0; level <= last; ++level) {
      const Moments& high = level < last ? below((level + 0.5) * step) : before_.back();
      noise += (high - low).noise_around(level * step);
      low = high;
    }
    return noise;
  }

  [[nodiscard]] std::int64_t filled() const { return filled_; }  // bins that hold values

 private:
  // Moments of the bins whose centres lie below `edge`, a place in bins.
  [[nodiscard]] const Moments& below(double edge) const {
    const double bins = std::ceil(edge - 0.5);
    return before_[std::min(static_cast<std::size_t>(bins), before_.size() - 1)];
  }

  const Statistics& statistics_;
  const Scheme& scheme_;
  double width_;
  std::vector<Moments> before_;  // of the first bins: before_[i] of i
  std::int64_t filled_ = 0;
};

}  // namespace

/// The threshold T at which quantizing |x| to 128 levels changes its distribution least.
/// Histogram of non-zero |x|; for each number of kept bins the divergence of the clipped
/// distribution from its quantized form (see KlSearch); T = (m + 0.5) w for the least one, and
/// max|x| when all bins are kept. Where T would quantize the histogram with more noise than max|x|
/// does, max|x| stands; where either is more than 1 dB noisier than the quietest threshold, that
/// (unless fewer bins than levels hold values).
/// Uses bins and levels, and the scheme for these comparisons. Cost: 1 ms.
/// Source: Migacz, "8-bit inference with TensorRT", GTC 2017 (S7310). Differs from source: exact
/// zeros are left out and the first bin is no higher than the second, because a spike at zero,
/// which costs nothing to quantize, would otherwise drive the threshold down until a level is one
/// bin wide; candidates run to all bins inclusive; a level has whole bins; a divergence compares
/// shapes, and a threshold that costs much energy for them gives way.
Range method_kl(const Statistics& statistics, const MethodOptions& options) {
  check_options(options);
  const double absmax = statistics.absmax();
  if (absmax == 0.0) return {};
  LinearHistogram magnitudes = statistics.magnitudes(options.bins);
  magnitudes.counts[0] = std::min(magnitudes.counts[0], magnitudes.counts[1]);
  const std::int64_t kept = KlSearch(magnitudes.counts, options.levels).best();
  const ClippingNoise noise(magnitudes, statistics, options.scheme);
  double threshold = absmax;
  double least = noise.at(absmax);
  if (kept < options.bins) {
    const double found = (static_cast<double>(kept) + 0.5) * magnitudes.width();
    const double there = noise.at(found);
    if (there <= least) {
      threshold = found;
      least = there;
    }
  }
  if (noise.filled() >= options.levels) {  // of fewer, the centres of bins tell too little
    const double quietest =
        grid_then_golden(absmax, kGrid, kSteps, [&](double t) { return noise.at(t); });
    if (least > kMostExcess * noise.at(quietest)) threshold = quietest;
  }
  return threshold == absmax ? statistics.range() : clipped_range(statistics, threshold);
}

}  // namespace qtool
