#pragma once

#include <string>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/groundwork.h"

// Wide tensors keep 16 bits, in two bytes that go through the same 8-bit kernels one after the
// other.
namespace qtool {

/// The steps that the second byte divides one step of the first one into: what rounding leaves is
/// at most half a step to either side.
inline constexpr float kWideSteps = 254.0F;

/// Widens the tensors of StaticOptions::wide in the graph that emit_static() made of `ground`:
///
///   h = DequantizeLinear(QuantizeLinear(x; s, z))          as it was
///   l = DequantizeLinear(QuantizeLinear(x - h; s / 254))
///   Layer(x) = Layer(h) + Layer(l) without bias
///
/// for each layer with weights that reads x. A function that would be a table reads x itself and
/// stays in FP32; where only functions read x, it is not rounded at all. What else reads x gets h.
/// Fills in QuantizeReport::wide, ::not_wide, and the roles of these functions. Throws
/// Error(kUsage) for a name that no tensor has, and where the target or its bits do not allow it.
/// Cost: linear.
void widen_tensors(const Groundwork& ground, const std::vector<std::string>& names, Graph& emitted,
                   QuantizeReport& report);

}  // namespace qtool
