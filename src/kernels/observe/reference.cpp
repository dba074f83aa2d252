#include <cmath>
#include <limits>

#include "kernels/observe/observe.h"

namespace qtool {

Seen reference_accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals) {
  Seen seen{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), true,
            0};
  for (std::int64_t c = 0; c < totals.width; ++c) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      const float x = values[p * totals.width + c];
      totals.sums[c] += double{x};
      totals.squares[c] += double{x} * double{x};
      if (x < totals.lows[c]) totals.lows[c] = x;
      if (x > totals.highs[c]) totals.highs[c] = x;
      if (!(std::fabs(x) < std::numeric_limits<float>::min())) ++seen.nonzeros;
    }
    if (totals.lows[c] < seen.lowest) seen.lowest = totals.lows[c];
    if (totals.highs[c] > seen.highest) seen.highest = totals.highs[c];
    seen.finite = seen.finite && std::isfinite(totals.squares[c]);
  }
  return seen;
}

std::int64_t reference_cells(const float* values, std::int64_t count, float cells_per_unit,
                             std::int32_t* cells) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = values[i];
    if (std::fabs(x) < std::numeric_limits<float>::min()) continue;
    cells[kept++] = static_cast<std::int32_t>(x * cells_per_unit) - (x < 0.0F ? 1 : 0);
  }
  return kept;
}

}  // namespace qtool
