#include "report/durations.h"

#include "base/text.h"
#include "compare/metrics.h"

namespace qtool {

namespace {

constexpr double kMilliseconds = 1e3;

}  // namespace

std::string milliseconds(double seconds, int decimals) {
  return to_fixed(seconds * kMilliseconds, decimals);
}

std::string slower_by(const MedianInterval& slower) {
  const auto text = [](double seconds) { return to_signed_fixed(seconds * kMilliseconds, 2); };
  return to_text(text(slower.median), " ms (", text(slower.low), " to ", text(slower.high), ")");
}

std::string slower_by(const RunCost& cost) {
  if (cost.disturbed) return "not known, as other work on this machine disturbed the measurement";
  const auto text = [](double ratio) { return to_signed_fixed(100.0 * (ratio - 1.0), 1); };
  return to_text(text(cost.ratio.median), " % (", text(cost.ratio.low), " to ",
                 text(cost.ratio.high), " %)");
}

std::string ratio(double slow, double fast) {
  return fast > 0.0 ? to_text(to_fixed(slow / fast, 2), "x") : std::string("-");
}

std::string unsteady_line(const char* name, double median_seconds, double fastest_seconds) {
  if (!is_unsteady(median_seconds, fastest_seconds)) return {};
  return to_text(name, ": the median is ", ratio(median_seconds, fastest_seconds),
                 " the fastest run (", milliseconds(fastest_seconds),
                 " ms); other work on this machine disturbs the measurement\n");
}

}  // namespace qtool
