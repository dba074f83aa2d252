#pragma once

#include <cstdint>

namespace qtool {

/// Running totals of `width` channels, one entry of each array per channel.
struct ChannelTotals {
  double* sums;
  double* squares;
  float* lows;
  float* highs;
  std::int64_t width;
};

/// Result of one call: how many of the values it added are not zero; and over all values in the
/// totals, of all channels, the extremes and whether every value was finite.
struct Seen {
  float lowest;
  float highest;
  bool finite;
  std::int64_t nonzeros;
};

/// Memory that is used next. Kernels prefetch as much of it as fits beside their own work: a hint
/// only, nothing is read.
struct Ahead {
  const void* first = nullptr;
  std::int64_t bytes = 0;
};

/// Which signs the values that are not zero can have.
enum class Signs : std::uint8_t { kBoth, kPositive };

struct ObserveFunctions {
  /// Adds `pixels` pixels of adjacent channels to the totals. For every channel c, one pixel p
  /// after the other, with x = values[p * width + c]:
  ///   sums[c] += double(x);  squares[c] += double(x) * double(x);
  ///   lows[c] = x < lows[c] ? x : lows[c];  highs[c] = x > highs[c] ? x : highs[c].
  /// So the additions of a channel have a fixed order, and every kernel gives the same bits,
  /// however many channels it handles together. The product is exact in double precision (24 bits
  /// each): with or without a fused multiply-add the bits are the same. Returns the extremes of all
  /// totals (minimum of lows, maximum of highs), whether all squares are finite (those cannot
  /// cancel and cannot overflow, so it is false exactly when NaN or an infinity was ever added) and
  /// how many of the values are not zero (a magnitude below the smallest normal float is). pixels *
  /// width is at most 2^31 - 1.
  Seen (*accumulate)(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                     const Ahead& ahead);

  /// Writes the grid cells of the values that are not zero, in order, and returns their number. A
  /// magnitude below the smallest normal float is a zero. The cell of x is x * cells_per_unit
  /// truncated, minus one if x is negative; the product must fit int32. `cells` has room for count
  /// + kCellSlack entries; those after the returned number are undefined afterwards.
  std::int64_t (*cells)(const float* values, std::int64_t count, float cells_per_unit, Signs signs,
                        std::int32_t* cells);
};

/// Kernels store whole vectors of cells, however few of them count.
inline constexpr std::int64_t kCellSlack = 16;

#define QTOOL_KERNEL(name, isa) extern const ObserveFunctions observe_##name;
#include "kernels/observe/observe.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
