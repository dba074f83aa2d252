#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/conv/conv.h"

namespace qtool {

/// Weights for int32 sums whose input zero point is known only at run time: it is subtracted
/// afterwards, times the sums of the weights.
struct PackedSums {
  PackedConv conv;
  std::vector<std::int32_t> sums;  ///< of w - zero point, by output channel
};

/// Packs weights as PackedConv::of_sums() does. Zero points that are all 0 cost nothing. Throws as
/// PackedConv does.
PackedSums pack_sums(ConvWeights weights);

/// Whether no sum of `depth` products of u8 and (w - zero point) can leave int32. `values`:
/// [channels][depth]; `zero_points`: one per channel, or none.
bool sums_fit(std::span<const std::int8_t> values, std::span<const std::int32_t> zero_points,
              std::int64_t depth);

}  // namespace qtool
