#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"

namespace qtool {

/// Rewrites an emitted model from QuantizeLinear/DequantizeLinear around operators on reals (QDQ)
/// to operators that read and write integers. These are QLinearConv and QLinearMatMul of ONNX, the
/// QLinear operators and QGemm of ONNX Runtime, and operators that move elements, which also run on
/// integers. A node that has no such form, or would round differently in it, stays as it is. An
/// activation between an operator and its QuantizeLinear is removed if the limits of the integers
/// have the same effect. The integers of both forms are equal. Returns how many nodes changed.
/// Cost: linear.
/// Source: ONNX operators QLinearConv, QLinearMatMul; ONNX Runtime docs/ContribOperators.md.
std::int64_t to_qoperator_form(Graph& graph);

}  // namespace qtool
