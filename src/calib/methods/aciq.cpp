#include <algorithm>
#include <array>
#include <cmath>

#include "calib/statistics.h"
#include "qtool/calib/method.h"
#include "quant/density.h"

namespace qtool {
namespace {

// Optimal clips in units of the standard deviation (normal) or the mean deviation (Laplace).
// Element i is for i + 1 bits; the element for 1 bit is never used. Source: Banner et al., arXiv
// 1810.05723, table 1 and the authors' published constants.
using Alphas = std::array<double, 8>;
constexpr Alphas kNormal = {1.24, 1.71, 2.15, 2.55, 2.93, 3.28, 3.61, 3.92};
constexpr Alphas kNormalAfterRelu = {1.71, 2.15, 2.55, 2.93, 3.28, 3.61, 3.92, 4.20};
constexpr Alphas kLaplace = {1.86, 2.83, 3.89, 5.03, 6.20, 7.41, 8.64, 9.89};
constexpr Alphas kLaplaceAfterRelu = {2.83, 3.89, 5.02, 6.20, 7.41, 8.64, 9.89, 11.16};

// The ratio of E|x - mean| to the standard deviation is sqrt(2 / pi) for a normal distribution and
// sqrt(0.5) for a Laplace distribution. The distribution with the nearer ratio is assumed.
constexpr double kMidway = 0.5 * (0.79788456 + 0.70710678);

}  // namespace

/// The clip with the least expected squared error if the values have a normal or a Laplace
/// distribution. The mean deviation decides which of the two is assumed. The range is mean +- alpha
/// deviations; after ReLU (no negative value) it is [0, max(mean, 0) + alpha deviations]. Needs
/// only the mean and the two deviations. The result is only as good as the assumption: the clip may
/// cut real tails. Cost: 0.1 ms.
/// Source: Banner et al., arXiv 1810.05723. Differs from source: both deviations are measured, not
/// estimated from the maximum.
Range method_aciq(const Statistics& statistics, const MethodOptions& options) {
  const Range observed = statistics.range();
  const double sigma = statistics.standard_deviation();
  if (!(sigma > 0.0)) return observed;
  const double mean = statistics.mean();
  const double deviation = Density(statistics.histogram()).mean_deviation(mean);
  const bool normal = deviation / sigma > kMidway;
  const bool relu = statistics.min() >= 0.0F;
  const auto bits = static_cast<std::size_t>(std::clamp(options.scheme.bits, 1, 8)) - 1;
  const Alphas& alphas =
      normal ? (relu ? kNormalAfterRelu : kNormal) : (relu ? kLaplaceAfterRelu : kLaplace);
  const double reach = alphas[bits] * (normal ? sigma : deviation);
  const double low = relu ? 0.0 : mean - reach;
  const double high = (relu ? std::max(mean, 0.0) : mean) + reach;
  const Range range{std::clamp(static_cast<float>(low), observed.min, 0.0F),
                    std::clamp(static_cast<float>(high), 0.0F, observed.max)};
  return range.min == 0.0F && range.max == 0.0F ? observed : range;
}

}  // namespace qtool
