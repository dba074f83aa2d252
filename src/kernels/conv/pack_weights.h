#pragma once

#include <cstdint>
#include <vector>

#include "kernels/conv/driver.h"
#include "kernels/gemm/contract.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The kinds of taps in the packed weights.
enum class TapKind : std::uint8_t {
  kPixel,  ///< one kernel position; a row has the channels of a group
  kRow,    ///< one kernel row, for few channels; a row has the channels of all its positions
};

/// Some panels of one group's output channels: the weights of one kernel call.
struct PanelUnit {
  std::int64_t group = 0;
  std::int64_t channel = 0;  ///< first output channel
  std::int64_t channels = 0;
  std::int64_t panels = 0;
  std::int64_t weights_at = 0;  ///< offset into `weights`
  std::int64_t starts_at = 0;   ///< offset into `starts`
  std::int64_t steps_at = 0;    ///< offset into `steps`
  std::int64_t columns_at = 0;  ///< offset into the per-channel arrays
};

/// The weights of a dense or grouped convolution, in the order that GemmCall requires.
struct PackedPanels {
  TapKind kind = TapKind::kPixel;
  std::int64_t taps = 1;  ///< kernel positions or rows of one term
  std::int64_t terms = 1;
  std::int64_t row_bytes = 4;    ///< bytes per tap, at least a group
  std::vector<PanelUnit> units;  ///< ordered by group
  Tensor weights;
  std::vector<std::int32_t> starts;  ///< empty for layouts without a pair_limit
  std::vector<TapSteps> steps;       ///< empty for layouts without a pair_limit
  std::vector<std::int32_t> bias;
  std::vector<float> multiplier;
  std::vector<float> negative;       ///< empty, or multipliers for sums below 0
  std::vector<CurveFactor> factors;  ///< empty without a curve
  std::vector<float> addend;         ///< empty for u8 output
};

/// Packs weights as a kernel of this layout wants them.
PackedPanels pack_panels(const ConvWeights& weights, const ConvOutput& output,
                         const GemmLayout& layout);

}  // namespace qtool
