#pragma once

#include "calib/statistics.h"
#include "qtool/calib/method.h"

namespace qtool {

/// What `auto` decided.
struct MethodChoice {
  const MethodInfo* method;
  Range range;  ///< the range that it chooses
};

/// The method that `auto` uses for these statistics of a network with such outputs: of `minmax`,
/// `kl`, `mse` and `percentile` the one whose range makes the least noise, which is the sum over
/// all values for vectors, and for maps the mean over the images of the logarithm of each one's
/// noise. Its row in the list is that of vectors. Throws Error(kUsage) as the candidates do. Cost:
/// theirs, 1.5 to 2.5 ms. Source: ours; docs/calibration.md, 5, says why.
MethodChoice best_method(const Statistics& statistics, const MethodOptions& options,
                         Outputs outputs);

}  // namespace qtool
