#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/text.h"
#include "calib/methods/whole_bin_kl.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/method.h"
#include "quant/density.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxKlBins = 65536;
// The thresholds of the weighted mean: this many per factor of two, from the largest magnitude
// down.
constexpr int kNodesPerOctave = 64;
constexpr int kNodes = 10 * kNodesPerOctave;
constexpr double kHopeless = 16.0;  // the search ends at this multiple of the least noise
// Weights of a threshold: see method_kl().
constexpr double kMaxExcess = 0.2589254117941673;  // 1 dB
constexpr double kFade = 0.02;
constexpr double kMinDivergence = 1e-6;  // nats; smaller differences mean nothing
constexpr double kNoDivergence = 1e3;    // for thresholds below all candidates

void check_options(const MethodOptions& options) {
  if (options.levels < 2 || options.levels > options.bins || options.bins > kMaxKlBins) {
    throw Error(ErrorCode::kUsage,
                to_text("method kl: found ", options.bins, " bins and ", options.levels,
                        " levels, expected 2 <= levels <= bins <= ", kMaxKlBins));
  }
}

// The noise of quantizing magnitudes. Every value counts as the centre of its bin. The unit is the
// square of the width of a bin.
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
    }
    before_.push_back(all);
  }

  // The noise with the step that the scheme gives to the range clipped at `threshold`. Cost:
  // constant per level.
  [[nodiscard]] double at(double threshold) const {
    const Range range = statistics_.clipped_range(threshold);
    const double step = exact_step(range, scheme_) / width_;
    if (!(step > 0.0)) return std::numeric_limits<double>::infinity();
    const Limits limits = limits_of(scheme_);
    // A range [-T, T] may end half-way between two levels. This tie is always rounded down, so that
    // the last bits of T do not matter.
    const double levels = std::nearbyint(threshold / width_ / step - kTie);
    const double last = std::min<double>(levels, limits.max - limits.min);
    double noise = 0.0;
    Moments low;
    for (std::int32_t level = 0; level <= last; ++level) {
      const Moments& high = level < last ? below((level + 0.5) * step) : before_.back();
      noise += (high - low).noise_around(level * step);
      low = high;
    }
    return noise;
  }

 private:
  static constexpr double kTie = 1e-3;

  // Moments of the bins whose centres lie below `edge`, in units of bins.
  [[nodiscard]] const Moments& below(double edge) const {
    const double bins = std::ceil(edge - 0.5);
    return before_[std::min(static_cast<std::size_t>(bins), before_.size() - 1)];
  }

  const Statistics& statistics_;
  const Scheme& scheme_;
  double width_;
  std::vector<Moments> before_;  // before_[i]: moments of the first i bins
};

// The nodes are the thresholds that the search weighs: node j is absmax 2^(-j / kNodesPerOctave).
double node(double j) { return std::exp2(-j / kNodesPerOctave); }

// The noise at the nodes, from node 0 to the first node with more than kHopeless times the least
// noise.
std::vector<double> noise_at_nodes(const ClippingNoise& noise, double absmax) {
  std::vector<double> found;
  double least = std::numeric_limits<double>::infinity();
  while (found.size() <= kNodes && (found.empty() || found.back() <= kHopeless * least)) {
    found.push_back(noise.at(absmax * node(static_cast<double>(found.size()))));
    least = std::min(least, found.back());
  }
  return found;
}

// For each node, the least divergence of the candidates nearest to it. If all of them are rejected
// because they end in empty bins, the value is interpolated between the neighbouring nodes.
std::vector<double> divergence_at_nodes(const WholeBinKl& candidates, const MethodOptions& options,
                                        std::size_t nodes) {
  std::vector<double> found;
  std::size_t known = 0;  // the last node with a candidate; node 0 has one
  for (std::size_t j = 0; j < nodes; ++j) {
    const auto bins = static_cast<double>(options.bins);
    const double lowest = bins * node(static_cast<double>(j) + 0.5);
    auto kept = std::min(options.bins,
                         static_cast<std::int64_t>(bins * node(static_cast<double>(j) - 0.5)));
    double least = std::numeric_limits<double>::infinity();
    for (; static_cast<double>(kept) > lowest && kept >= options.levels; --kept) {
      least = std::min(least,
                       candidates.divergences()[static_cast<std::size_t>(kept - options.levels)]);
    }
    found.push_back(least);
    if (std::isinf(least)) continue;
    const double slope = (least - found[known]) / static_cast<double>(j - known);
    for (std::size_t gap = known + 1; gap < j; ++gap) {
      found[gap] = found[known] + slope * static_cast<double>(gap - known);
    }
    known = j;
  }
  std::fill(found.begin() + static_cast<std::ptrdiff_t>(known) + 1, found.end(), kNoDivergence);
  return found;
}

// D^-8: a divergence that is a tenth larger weighs half as much.
double weight_of_divergence(double divergence) {
  const double square = (divergence + kMinDivergence) * (divergence + kMinDivergence);
  return 1.0 / (square * square * square * square);
}

// The weight falls to 0 at 1 dB above the least noise. It also falls to 0 as the noise reaches the
// noise of the whole range.
double weight_of_noise(double noise, double least, double whole) {
  const double excess = noise > least ? (noise - least) / (kMaxExcess * least) : 0.0;
  const double fade = noise < whole ? std::min(1.0, (whole - noise) / (kFade * least)) : 0.0;
  const double wall = std::max(0.0, 1.0 - excess);
  return wall * wall * fade;
}

}  // namespace

/// The threshold T at which quantizing |x| to 128 levels changes its distribution least. For each
/// number of kept bins of the histogram of non-zero |x|, D is the divergence of the clipped
/// distribution from its quantized form (see WholeBinKl). T is a weighted mean of thresholds
/// between max|x| and max|x| / 1024, 64 per factor of two. The weight of a threshold is D^-8 times
/// (1 - e)^2. e is the amount by which its noise exceeds the least noise, divided by this amount at
/// 1 dB; from e = 1 on the weight is 0. The weight also falls to 0 as the noise reaches the noise
/// of max|x|, over the last 2 % of the least noise; this does not apply to max|x| itself. A mean is
/// used because D is flat and noisy around its minimum: the position of the minimum would depend on
/// the last bits of the values. Uses `bins`, `levels` and, for the noise, `scheme`. Cost: 0.5 to 1
/// ms.
/// Source: Migacz, "8-bit inference with TensorRT", GTC 2017 (S7310). Differs from source: exact
/// zeros are left out and the first bin is no higher than the second, because a spike at zero,
/// which has no quantization error, would otherwise shrink the threshold until a level is one bin
/// wide; the last candidate keeps all bins; a level consists of whole bins; thresholds are
/// averaged; thresholds with much noise have no weight, because a divergence compares shapes only.
Range method_kl(const Statistics& statistics, const MethodOptions& options) {
  check_options(options);
  const double absmax = statistics.absmax();
  if (absmax == 0.0) return {};
  if (exact_step(statistics.range(), options.scheme) < std::numeric_limits<float>::min()) {
    return statistics.range();  // its scale would not be a normal float
  }
  LinearHistogram magnitudes = statistics.magnitudes(options.bins);
  magnitudes.counts[0] = std::min(magnitudes.counts[0], magnitudes.counts[1]);
  const ClippingNoise noise(magnitudes, statistics, options.scheme);
  const std::vector<double> noises = noise_at_nodes(noise, absmax);
  const double least = *std::min_element(noises.begin(), noises.end());
  if (std::isinf(least)) return statistics.range();
  const std::vector<double> divergences =
      divergence_at_nodes(WholeBinKl(magnitudes.counts, options.levels), options, noises.size());
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t j = 0; j < noises.size(); ++j) {
    const double whole = j == 0 ? std::numeric_limits<double>::infinity() : noises.front();
    const double weight =
        weight_of_divergence(divergences[j]) * weight_of_noise(noises[j], least, whole);
    sum += weight * node(static_cast<double>(j));
    weights += weight;
  }
  const double threshold = absmax * sum / weights;
  // Where the noise has two minima, the mean may lie at a maximum between them.
  if (noise.at(threshold) > noises.front()) return statistics.range();
  return statistics.clipped_range(threshold);
}

}  // namespace qtool
