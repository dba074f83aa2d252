#include <vector>

#include "calib/methods/fractional_kl.h"
#include "calib/statistics.h"
#include "qtool/calib/method.h"

namespace qtool {
namespace {

constexpr std::int64_t kNcnnKlBins = 2048;
constexpr std::int64_t kNcnnKlLevels = 128;
constexpr double kSmoothing = 1e-4;

}  // namespace

/// The threshold that ncnn computes with `method=kl`: 2,048 bins of non-zero |x|, 128 levels with
/// fractional edges, 1e-4 added to every bin. Exists for parity with ncnn. The smoothing makes it
/// clip more than `kl` when many bins have small counts, and a spike in the first bin moves the
/// threshold. Cost: 2 ms.
/// Source: ncnn, tools/quantize/ncnn2table.cpp.
Range method_kl_ncnn(const Statistics& statistics, const MethodOptions& /*options*/) {
  const LinearHistogram magnitudes = statistics.magnitudes(kNcnnKlBins);
  const auto total = static_cast<double>(magnitudes.total());
  if (total == 0.0) return statistics.range();
  std::vector<double> weights;
  weights.reserve(magnitudes.counts.size());
  for (const std::int64_t count : magnitudes.counts) {
    weights.push_back(static_cast<double>(count) / total);
  }
  const std::int64_t kept = FractionalKl(weights, kNcnnKlLevels, kSmoothing).best();
  return statistics.clipped_range((static_cast<double>(kept) + 0.5) * magnitudes.width());
}

}  // namespace qtool
