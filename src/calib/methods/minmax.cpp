#include "calib/statistics.h"
#include "qtool/calib/method.h"

namespace qtool {

/// The observed range, widened to 0. Best without outliers; a single large value reduces the
/// resolution of all others. Cost: none.
/// Source: Jacob et al., arXiv 1712.05877, section 3.
Range method_minmax(const Statistics& statistics, const MethodOptions& /*options*/) {
  return statistics.range();
}

}  // namespace qtool
