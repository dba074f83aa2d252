#pragma once

#include <cstdint>

#include "kernels/observe/contract.h"

namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see logarithm.h

constexpr float kSmallestNormal = 0x1p-126F;

// Prefetches memory line by line from inside a loop that computes. The lines go to the second-level
// cache, because the first-level cache is full of the loop's own data. A loop works on a local copy
// of this object, which stays in registers.
class Fetch {
 public:
  explicit Fetch(const Ahead& ahead)
      : at_(reinterpret_cast<std::uintptr_t>(ahead.first)),
        end_(at_ + static_cast<std::uintptr_t>(ahead.bytes)) {}

  // Prefetches the next `kLines` lines, unless all are fetched. The last lines may lie beyond the
  // end.
  template <unsigned kLines>
  [[gnu::always_inline]] void lines() {
    if (at_ >= end_) return;
    for (unsigned line = 0; line < kLines; ++line, at_ += kLineBytes) {
      __builtin_prefetch(reinterpret_cast<const void*>(at_), 0, 2);
    }
  }

 private:
  static constexpr std::uintptr_t kLineBytes = 64;
  std::uintptr_t at_;
  std::uintptr_t end_;
};

// Adds the channels from `channel` on, which are too few for a vector. Returns the number of zeros.
inline std::int64_t accumulate_rest(const float* values, std::int64_t pixels,
                                    const ChannelTotals& totals, std::int64_t channel) {
  std::int64_t zeros = 0;
  for (std::int64_t c = channel; c < totals.width; ++c) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      const float x = values[p * totals.width + c];
      totals.sums[c] += double{x};
      totals.squares[c] += double{x} * double{x};
      totals.lows[c] = x < totals.lows[c] ? x : totals.lows[c];
      totals.highs[c] = x > totals.highs[c] ? x : totals.highs[c];
      zeros += x < kSmallestNormal && x > -kSmallestNormal ? 1 : 0;
    }
  }
  return zeros;
}

// Combines the totals of all channels.
inline Seen seen_in(const ChannelTotals& totals, std::int64_t nonzeros) {
  Seen seen{__builtin_inff(), -__builtin_inff(), true, nonzeros};
  for (std::int64_t c = 0; c < totals.width; ++c) {
    seen.lowest = totals.lows[c] < seen.lowest ? totals.lows[c] : seen.lowest;
    seen.highest = totals.highs[c] > seen.highest ? totals.highs[c] : seen.highest;
    seen.finite = seen.finite && totals.squares[c] < __builtin_inf();
  }
  return seen;
}

// Writes the cells of fewer values than a vector has. It writes at most one entry more than the
// number it returns.
inline std::int64_t cells_of_rest(const float* values, std::int64_t count, float cells_per_unit,
                                  std::int32_t* cells) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = values[i];
    const bool negative = x <= -kSmallestNormal;
    cells[kept] = static_cast<std::int32_t>(x * cells_per_unit) - (negative ? 1 : 0);
    kept += negative || x >= kSmallestNormal ? 1 : 0;
  }
  return kept;
}

}  // namespace
}  // namespace qtool
