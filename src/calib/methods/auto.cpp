#include "calib/methods/auto.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "calib/statistics.h"
#include "qtool/calib/method.h"
#include "quant/density.h"

namespace qtool {
namespace {

// The methods to choose from, which differ most from each other: one keeps the whole range, and
// three clip in different ways.
constexpr std::array<std::string_view, 4> kCandidates = {"minmax", "kl", "mse", "percentile"};
// The least noise of an image, relative to the signal. Lower noise counts as this value, because
// nothing is gained beyond 120 dB.
constexpr double kMinNoise = 1e-12;

// The cost of a range: the mean, over the images that have non-zero values, of the logarithm of the
// image's noise. The noise is relative to the signal, so that scaling by a power of two changes
// nothing. The rounding noise is assumed to be equal in all images. The clipping noise is divided
// among the images in proportion to the squared distance of their extremes from the range.
double mean_log_noise(const Statistics& statistics, const QuantizationEffect& effect,
                      const Affine& affine, const Limits& limits) {
  const Range covered = represented_range(affine, limits);
  std::vector<double> costs;
  for (const ImageExtremes& image : statistics.image_extremes()) {
    if (image.min == 0.0F && image.max == 0.0F) continue;
    const double above = std::max(0.0, double{image.max} - covered.max);
    const double below = std::max(0.0, double{covered.min} - image.min);
    costs.push_back(above * above + below * below);
  }
  if (costs.empty() || effect.signal == 0.0) return effect.noise;
  std::sort(costs.begin(), costs.end());  // so that no sum depends on the order of the images
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  const auto images = static_cast<double>(costs.size());
  const double rounding = (effect.noise - effect.clipping) / images;
  double sum = 0.0;
  for (const double cost : costs) {
    const double share = all > 0.0 ? cost / all : 1.0 / images;
    sum += std::log(
        std::max((rounding + share * effect.clipping) / effect.signal, kMinNoise / images));
  }
  return sum / images;
}

}  // namespace

MethodChoice best_method(const Statistics& statistics, const MethodOptions& options,
                         Outputs outputs) {
  const Density density(statistics.histogram());
  const Limits limits = limits_of(options.scheme);
  MethodChoice best{nullptr, {}};
  double least = std::numeric_limits<double>::infinity();
  for (const std::string_view name : kCandidates) {
    const MethodInfo& method = find_method(name);
    const Range range = method.decide(statistics, options);
    const Affine affine = choose_affine(range, options.scheme);
    const QuantizationEffect effect = density.effect(affine, limits);
    const double cost = outputs == Outputs::kMaps
                            ? mean_log_noise(statistics, effect, affine, limits)
                            : effect.noise;
    if (best.method == nullptr || cost < least) {
      best = {&method, range};
      least = cost;
    }
  }
  return best;
}

Range method_auto(const Statistics& statistics, const MethodOptions& options) {
  return best_method(statistics, options, Outputs::kVectors).range;
}

}  // namespace qtool
