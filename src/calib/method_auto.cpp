#include <array>
#include <limits>

#include "qtool/calib/method.h"
#include "qtool/quant/density.h"

namespace qtool {
namespace {

// Methods of different temper: the whole range, three clips.
constexpr std::array<std::string_view, 4> kCandidates = {"minmax", "kl", "mse", "percentile"};

}  // namespace

const MethodInfo& best_method(const Statistics& statistics, const MethodOptions& options) {
  const Density density(statistics.histogram());
  const Limits limits = limits_of(options.scheme);
  const MethodInfo* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string_view name : kCandidates) {
    const MethodInfo& method = find_method(name);
    const Affine affine = choose_affine(method.decide(statistics, options), options.scheme);
    const double noise = density.effect(affine, limits).noise;
    if (best == nullptr || noise < least) {
      best = &method;
      least = noise;
    }
  }
  return *best;
}

Range method_auto(const Statistics& statistics, const MethodOptions& options) {
  return best_method(statistics, options).decide(statistics, options);
}

}  // namespace qtool
