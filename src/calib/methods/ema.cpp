#include <cmath>

#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/method.h"

namespace qtool {
namespace {

// With a smaller momentum, images that the statistics no longer keep would have a noticeable
// weight.
constexpr double kMinMomentum = 0.005;

}  // namespace

/// Exponential moving average of the ranges of the images: r <- c r_image + (1 - c) r with c =
/// `momentum`, beginning with the range of the first image. The order is the order of the list, not
/// the order in which the images ran. The result depends on this order by design. The statistics
/// keep the last 4,096 images. Each earlier image of a longer list would have a weight below (1 -
/// c)^4096. Cost: linear in the number of kept images.
/// Source: Jacob et al., arXiv 1712.05877, section 3.1; MNN's EMA uses c = 0.01.
Range method_ema(const Statistics& statistics, const MethodOptions& options) {
  const double c = options.momentum;
  if (!(c >= kMinMomentum && c <= 1.0)) {
    throw Error(ErrorCode::kUsage,
                to_text("method ema: found momentum ", c, ", expected ", kMinMomentum, " to 1"));
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
