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

/// The only input of a network as the graph declares it. Throws Error(kUnsupported) naming the
/// inputs when there are several: an image can be fed to one only.
const Value& image_input(const Graph& graph);
const Value& image_input(Graph&& graph) = delete;

}  // namespace qtool
