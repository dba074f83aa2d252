#include "compare/near_chance.h"

#include <cmath>

namespace qtool {
namespace {

// P(X <= hits) for the number X of successes in `trials` trials that each succeed with the
// probability `p`, 0 < p < 1.
double at_most(std::int64_t hits, std::int64_t trials, double p) {
  double sum = 0.0;
  const auto n = static_cast<double>(trials);
  for (std::int64_t i = 0; i <= hits; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                    k * std::log(p) + (n - k) * std::log1p(-p));
  }
  return sum;
}

}  // namespace

bool is_near_chance(std::int64_t hits, std::int64_t images, std::int64_t classes) {
  constexpr double kRare = 0.01;
  if (classes < 2 || images < 1) return false;
  const double chance = 1.0 / static_cast<double>(classes);
  return at_most(images - hits, images, 1.0 - chance) > kRare &&
         at_most(hits, images, (1.0 + chance) / 2.0) < kRare;
}

}  // namespace qtool
