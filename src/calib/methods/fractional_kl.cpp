#include "calib/methods/fractional_kl.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/logarithm.h"

namespace qtool {
FractionalKl::FractionalKl(std::span<const double> weights, std::int64_t levels, double smoothing)
    : levels_(levels) {
  const auto bins = static_cast<std::int64_t>(weights.size());
  QTOOL_CHECK(levels >= 1 && bins > levels && bins * levels <= kCrossEntropyMax);
  const CrossEntropyKernel kernel;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> below(weights.size() + 1);
  std::vector<double> entropy(weights.size() + 1);  // prefix sums of p ln p, p smoothed
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double p = weights[j] + smoothing;
    below[j + 1] = below[j] + weights[j];
    entropy[j + 1] = entropy[j] + p * logarithm(p);
  }
  const LevelledHistogram histogram{weights.data(), below.data(), levels, smoothing};
  std::vector<double> scratch(at(kCrossEntropyScratch * (levels + 1)));
  divergences_.reserve(at(bins - levels));
  for (std::int64_t kept = levels; kept < bins; ++kept) {
    const double tail = below[at(bins)] - below[at(kept)];
    const double edge = weights[at(kept - 1)] + smoothing + tail;  // the last bin of P
    const double self = entropy[at(kept - 1)] + edge * logarithm(edge);
    divergences_.push_back(self - kernel.run(histogram, kept, tail, scratch.data()));
  }
}

std::int64_t FractionalKl::best() const noexcept {
  return levels_ +
         (std::min_element(divergences_.begin(), divergences_.end()) - divergences_.begin());
}

}  // namespace qtool
