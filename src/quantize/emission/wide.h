#pragma once

#include <unordered_map>

#include "qtool/graph/graph.h"
#include "quantize/emission/emit.h"

namespace qtool {

/// Writes the second byte of each wide tensor x into a graph of pairs. `rounded`: by tensor, the
/// result of its pair. For each layer that reads both bytes:
///
///   h = DequantizeLinear(QuantizeLinear(x; s, z))          as before
///   l = DequantizeLinear(QuantizeLinear(x - h; s / 254))
///   Layer(x) = Layer(h) + Layer(l) without bias
///
/// Functions that stay in FP32 for it read x itself. If only they read x, then x is not rounded at
/// all. All other nodes that read x read h. If x is made by nodes that only move elements, such as
/// Pad, these nodes read what they move before it is rounded. Adds its counts to `report`. Cost:
/// linear.
void emit_wide(const Decisions& decisions, const std::unordered_map<ValueId, ValueId>& rounded,
               Graph& emitted, QuantizeReport& report);

}  // namespace qtool
