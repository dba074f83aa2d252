#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/conv/conv.h"

namespace qtool {

/// Packed weights for int32 sums when the zero point of the input is known only at run time. After
/// the kernel, the zero point times `sums` must be subtracted.
struct PackedSums {
  PackedConv conv;
  std::vector<std::int32_t> sums;  ///< sums of (w - zero point), by output channel
};

/// Packs weights as PackedConv::of_sums() does. Zero points that are all 0 cost nothing. Throws as
/// PackedConv does.
PackedSums pack_sums(ConvWeights weights);

/// Whether every sum of `depth` products u8 * (w - zero point) fits into int32. `values`:
/// [channels][depth]; `zero_points`: one per channel, or none.
bool sums_fit(std::span<const std::int8_t> values, std::span<const std::int32_t> zero_points,
              std::int64_t depth);

}  // namespace qtool
