#include <algorithm>
#include <vector>

#include "calib/methods/fractional_kl.h"
#include "calib/statistics.h"
#include "qtool/calib/method.h"
#include "quant/histogram.h"

namespace qtool {
namespace {

constexpr std::int64_t kMnnBins = 2048;
constexpr std::int64_t kMnnLevels = 128;
constexpr double kMnnStart = 1e-7;       // initial count of every bin
constexpr double kNothing = 1e-6;        // magnitudes up to this are left out
constexpr std::int64_t kSmallMap = 100;  // images with fewer pixels are not searched

// The number of magnitudes that are left out. Values are assumed to be spread evenly over their
// cell.
std::int64_t count_of_nothing(const FloatHistogram& histogram) {
  const double width = histogram.cell_width();
  double count = 0.0;
  for (std::int64_t cell = 0; cell < FloatHistogram::kCells; ++cell) {
    const double below = kNothing - static_cast<double>(cell) * width;
    if (below <= 0.0) break;
    const std::int64_t both = histogram.cell_count(cell) + histogram.cell_count(-1 - cell);
    count += static_cast<double>(both) * std::min(1.0, below / width);
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace

/// The threshold that MNN computes with `KL`: magnitudes above 1e-6 are counted in 2,048 bins whose
/// counts start at 1e-7, and there are 128 levels with fractional edges. For a tensor of less than
/// 100 pixels the threshold is half a bin below max|x|. Exists for parity with MNN. Because of the
/// fixed 1e-6, the result depends on the unit of the data. Cost: 2 ms.
/// Source: MNN, tools/quantization/TensorStatistic.cpp.
Range method_kl_mnn(const Statistics& statistics, const MethodOptions& /*options*/) {
  LinearHistogram magnitudes = statistics.magnitudes(kMnnBins);
  if (magnitudes.total() == 0) return statistics.range();
  const double width = magnitudes.width();
  const std::int64_t pixels =
      statistics.count() / std::max<std::int64_t>(1, statistics.images() * statistics.channels());
  std::int64_t kept = kMnnBins - 1;
  if (pixels >= kSmallMap) {
    std::int64_t nothing = count_of_nothing(statistics.histogram());
    for (std::int64_t& count : magnitudes.counts) {
      const std::int64_t taken = std::min(nothing, count);
      count -= taken;
      nothing -= taken;
    }
    std::vector<double> weights;
    weights.reserve(magnitudes.counts.size());
    double total = 0.0;
    for (const std::int64_t count : magnitudes.counts) {
      weights.push_back(static_cast<double>(count) + kMnnStart);
      total += weights.back();
    }
    for (double& weight : weights) weight /= total;
    kept = FractionalKl(weights, kMnnLevels, 0.0).best();
  }
  return statistics.clipped_range((static_cast<double>(kept) + 0.5) * width);
}

}  // namespace qtool
