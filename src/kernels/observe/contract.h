#pragma once

#include <cstdint>

namespace qtool {

/// Running totals of `width` channels. Each array has one entry per channel.
struct ChannelTotals {
  double* sums;
  double* squares;
  float* lows;
  float* highs;
  std::int64_t width;
};

/// The result of one call. `nonzeros` counts the values of this call that are not zero. The other
/// members describe all values in the totals, over all channels: the extremes, and whether every
/// value was finite.
struct Seen {
  float lowest;
  float highest;
  bool finite;
  std::int64_t nonzeros;
};

/// Memory that will be used next. Kernels prefetch the part of it for which their own work leaves
/// time. It is only a hint: nothing is read.
struct Ahead {
  const void* first = nullptr;
  std::int64_t bytes = 0;
};

/// The signs that non-zero values can have.
enum class Signs : std::uint8_t { kBoth, kPositive };

struct ObserveFunctions {
  /// Adds `pixels` pixels of adjacent channels to the totals. For every channel c, one pixel p
  /// after the other, with x = values[p * width + c]:
  ///   sums[c] += double(x);  squares[c] += double(x) * double(x);
  ///   lows[c] = x < lows[c] ? x : lows[c];  highs[c] = x > highs[c] ? x : highs[c].
  /// So the additions of a channel have a fixed order, and every kernel gives the same bits,
  /// however many channels it handles together. The product of two floats (24 bits each) is exact
  /// in double precision, so a fused multiply-add gives the same bits. Returns the extremes of all
  /// totals (minimum of lows, maximum of highs), whether all squares are finite, and how many of
  /// the values are not zero. Sums of squares cannot cancel or overflow, so they are not finite
  /// exactly when NaN or an infinity was ever added. A magnitude below the smallest normal float
  /// counts as zero. pixels * width is at most 2^31 - 1.
  Seen (*accumulate)(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                     const Ahead& ahead);

  /// Writes the grid cells of the values that are not zero, in order, and returns their number. A
  /// magnitude below the smallest normal float is a zero. The cell of x is x * cells_per_unit
  /// truncated, minus one if x is negative; the product must fit int32. `cells` has room for count
  /// + kCellSlack entries; the entries after the returned number are undefined afterwards.
  std::int64_t (*cells)(const float* values, std::int64_t count, float cells_per_unit, Signs signs,
                        std::int32_t* cells);
};

/// The extra entries are needed because kernels store whole vectors of cells, even if only some of
/// the cells are valid.
inline constexpr std::int64_t kCellSlack = 16;

#define QTOOL_KERNEL(name) extern const ObserveFunctions observe_##name;
#include "kernels/observe/observe.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
