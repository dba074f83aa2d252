#pragma once

#include <string>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/groundwork.h"

// Wide tensors keep 16 bits, in two bytes that go through the same 8-bit kernels one after the
// other.
namespace qtool {

/// The number of steps of the second byte in one step of the first byte. The rounding error of the
/// first byte is at most half a step to either side.
inline constexpr float kWideSteps = 254.0F;

/// Widens each tensor x of StaticOptions::wide in the graph that emit_static() made of `ground`.
/// For each layer with weights that reads x:
///
///   h = DequantizeLinear(QuantizeLinear(x; s, z))          as before
///   l = DequantizeLinear(QuantizeLinear(x - h; s / 254))
///   Layer(x) = Layer(h) + Layer(l) without bias
///
/// A function that would run as a table reads x itself and stays in FP32. If only functions read x,
/// then x is not rounded at all. All other nodes that read x read h. Fills in QuantizeReport::wide,
/// ::not_wide, and the roles of the nodes of these functions. Throws Error(kUsage) for a name that
/// no tensor has, and if the target or its activation bits do not allow wide tensors. Cost: linear.
void widen_tensors(const Groundwork& ground, const std::vector<std::string>& names, Graph& emitted,
                   QuantizeReport& report);

}  // namespace qtool
