#include "calib/statistics.h"
#include "qtool/calib/method.h"

namespace qtool {

// Half of the observed range.
Range method_half(const Statistics& statistics, const MethodOptions& /*options*/) {
  const Range range = statistics.range();
  return {range.min / 2.0F, range.max / 2.0F};
}

}  // namespace qtool
