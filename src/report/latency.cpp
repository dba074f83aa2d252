#include "report/latency.h"

#include "base/text.h"
#include "measure/metrics.h"

namespace qtool {

std::string milliseconds(double seconds) { return to_fixed(seconds * 1e3, 3); }

std::string ratio(double slow, double fast) {
  return fast > 0.0 ? concat(to_fixed(slow / fast, 2), "x") : std::string("-");
}

std::string unsteady_line(const char* name, double median_seconds, double fastest_seconds) {
  if (!is_unsteady(median_seconds, fastest_seconds)) return {};
  return concat(name, ": the median is ", ratio(median_seconds, fastest_seconds),
                " the fastest run (", milliseconds(fastest_seconds),
                " ms); other work on this machine disturbs the measurement\n");
}

}  // namespace qtool
