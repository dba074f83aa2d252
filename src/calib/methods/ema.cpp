#include <cmath>

#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/method.h"

namespace qtool {
namespace {

// With a smaller momentum, images that statistics no longer keep would still have weight.
constexpr double kMinMomentum = 0.005;

}  // namespace

/// Exponential moving average of each image's range in the order of the list, whatever the order
/// they ran in: r <- c r_image + (1 - c) r, the first image as it is, c = `momentum`. Follows the
/// list's order by design. Statistics remember the last 4,096 images; of a longer list the earlier
/// ones would weigh less than (1 - c)^4096. Cost: linear in those.
/// Source: Jacob et al., arXiv 1712.05877, section 3.1; MNN's EMA uses c = 0.01.
Range method_ema(const Statistics& statistics, const MethodOptions& options) {
  const double c = options.momentum;
  if (!(c >= kMinMomentum && c <= 1.0)) {
    throw Error(ErrorCode::kUsage,
                concat("method ema: found momentum ", c, ", expected ", kMinMomentum, " to 1"));
  }
  double min = 0.0;
  double max = 0.0;
  bool first = true;
  for (const ImageExtremes& image : statistics.image_extremes()) {
    min = first ? image.min : c * image.min + (1.0 - c) * min;
    max = first ? image.max : c * image.max + (1.0 - c) * max;
    first = false;
  }
  return {static_cast<float>(std::fmin(min, 0.0)), static_cast<float>(std::fmax(max, 0.0))};
}

}  // namespace qtool
