#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"

namespace qtool {

/// Rewrites an emitted model from QuantizeLinear/DequantizeLinear around operators on reals (QDQ)
/// to operators that take and give integers: QLinearConv and QLinearMatMul of ONNX, the QLinear
/// operators and QGemm of ONNX Runtime, and operators that move elements on integers as they are.
/// What has no such form, or would round otherwise in it, stays as it was. An activation between an
/// operator and its QuantizeLinear goes where the limits of the integers do the same; the integers
/// of both forms are equal. Returns how many nodes changed. Cost: linear.
/// Source: ONNX operators QLinearConv, QLinearMatMul; ONNX Runtime docs/ContribOperators.md.
std::int64_t to_qoperator_form(Graph& graph);

}  // namespace qtool
