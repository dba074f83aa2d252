#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "qtool/calib/method.h"
#include "qtool/quant/density.h"

namespace qtool {
namespace {

// Methods of different temper: the whole range, three clips.
constexpr std::array<std::string_view, 4> kCandidates = {"minmax", "kl", "mse", "percentile"};

// What a range costs the pictures: the mean of the logarithm of each picture's noise. Rounding
// makes the same in all; clipping is shared out by the squares of how far each picture's extremes
// lie outside. Relative to the signal, so that a power of two changes nothing.
double mean_log_noise(const Statistics& statistics, const QuantizationEffect& effect,
                      const Affine& affine, const Limits& limits) {
  if (effect.signal == 0.0) return 0.0;
  const double low = static_cast<double>(affine.scale) * (limits.min - affine.zero_point);
  const double high = static_cast<double>(affine.scale) * (limits.max - affine.zero_point);
  std::vector<double> costs;
  for (const ImageExtremes& image : statistics.image_extremes()) {
    const double above = std::max(0.0, image.max - high);
    const double below = std::max(0.0, low - image.min);
    costs.push_back(above * above + below * below);
  }
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  const auto pictures = static_cast<double>(costs.size());
  const double rounding = (effect.noise - effect.clipping) / pictures;
  for (double& cost : costs) {
    const double share = all > 0.0 ? cost / all : 1.0 / pictures;
    cost = std::log((rounding + share * effect.clipping) / effect.signal);
  }
  std::sort(costs.begin(), costs.end());  // the sum does not depend on the pictures' order
  return std::accumulate(costs.begin(), costs.end(), 0.0) / pictures;
}

}  // namespace

const MethodInfo& best_method(const Statistics& statistics, const MethodOptions& options,
                              Outputs outputs) {
  const Density density(statistics.histogram());
  const Limits limits = limits_of(options.scheme);
  const MethodInfo* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string_view name : kCandidates) {
    const MethodInfo& method = find_method(name);
    const Affine affine = choose_affine(method.decide(statistics, options), options.scheme);
    const QuantizationEffect effect = density.effect(affine, limits);
    const double cost = outputs == Outputs::kMaps
                            ? mean_log_noise(statistics, effect, affine, limits)
                            : effect.noise;
    if (best == nullptr || cost < least) {
      best = &method;
      least = cost;
    }
  }
  return *best;
}

Range method_auto(const Statistics& statistics, const MethodOptions& options) {
  return best_method(statistics, options).decide(statistics, options);
}

}  // namespace qtool
