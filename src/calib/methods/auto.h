#pragma once

#include "calib/statistics.h"
#include "qtool/calib/method.h"

namespace qtool {

/// The decision of `auto`.
struct MethodChoice {
  const MethodInfo* method;
  Range range;  ///< chosen by `method`
};

/// The method that `auto` uses for these statistics: among `minmax`, `kl`, `mse` and `percentile`,
/// the method whose range makes the least noise. `outputs`: the kind of outputs of the network. For
/// vectors, the noise is the sum over all values. For maps, it is the mean over the images of the
/// logarithm of the noise of each image. The row `auto` in the list of methods always uses the
/// noise for vectors. Throws Error(kUsage) as the candidates do. Cost: the sum of the costs of the
/// candidates, 1.5 to 2.5 ms. Source: ours; docs/research/calibration.md, section 5, gives the
/// reasons.
MethodChoice best_method(const Statistics& statistics, const MethodOptions& options,
                         Outputs outputs);

}  // namespace qtool
