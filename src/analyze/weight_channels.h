#pragma once

#include "qtool/analyze/analyze.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Describes the weights of a layer: `source.weight_channels`, `depthwise` and `filter`. `int8`:
/// the FP32 graph with the weights of the INT8 model, see QuantizedParts::with_weights. Leaves
/// `source` as it is for layers whose weights have no output channels (LSTM). Cost: linear.
void describe_weights(const Graph& fp32, const Graph& int8, NodeId node, ErrorSource& source);

}  // namespace qtool
