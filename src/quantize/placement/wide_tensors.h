#pragma once

#include <span>
#include <string>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/activation_affines.h"
#include "quantize/placement/placement.h"

// Wide tensors keep 16 bits, in two bytes that go through the same 8-bit kernels one after the
// other.
namespace qtool {

/// The number of steps of the second byte in one step of the first byte. The rounding error of the
/// first byte is at most half a step to either side.
inline constexpr float kWideSteps = 254.0F;

/// Decides what becomes of each tensor that `names` match, names or patterns with `*` and `?`: see
/// Placement::wide. `placement` and `activations` are those of the graph without wide tensors.
/// Functions that read a wide tensor leave Placement::functions, and their nodes stay in FP32.
/// Throws Error(kUsage) for a name that no tensor has, and if the target or its activation bits do
/// not allow wide tensors. Cost: linear.
void place_wide_tensors(const Graph& graph, const Target& target,
                        const ActivationAffines& activations, std::span<const std::string> names,
                        Placement& placement);

}  // namespace qtool
