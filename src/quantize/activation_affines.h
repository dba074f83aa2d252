#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "qtool/quantize/quantize.h"
#include "quantize/placement.h"

namespace qtool {

/// Range, scale and zero point of an activation, from calibration.
struct CalibratedMap {
  Range range;
  Affine affine;
};
using CalibratedMaps = std::function<CalibratedMap(std::string_view tensor)>;

/// The affine map of every quantized tensor, and the Concats whose operands have different ones.
struct ChosenMaps {
  std::vector<std::optional<Affine>> by_value;  ///< by ValueId; constants of aligned Concats too
  std::vector<UnequalConcat> unequal;
};

/// Gives each quantized tensor the affine map of its source. The operands of a Concat get one for
/// their common range where that costs none of them more resolution than the target allows.
ChosenMaps choose_maps(const Graph& graph, const Placement& placement, const Target& target,
                       const CalibratedMaps& calibrated);

/// Smallest and largest value of a float32 tensor, widened to contain 0.
Range range_of(const Tensor& tensor);

}  // namespace qtool
