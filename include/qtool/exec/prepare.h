#pragma once

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Brings a loaded graph into the one form that all commands work on: every node upgraded to the
/// canonical opset, constants folded, BatchNormalization folded into convolutions, dead nodes
/// removed. The result is standard ONNX; names of surviving nodes and tensors never change.
/// Idempotent. Throws Error(kInvalidModel) or Error(kUnsupported) naming the node,
/// Error(kCancelled) when `stop` says so.
Graph prepare(Graph graph, const StopCheck& stop = {});

}  // namespace qtool
