#pragma once

#include <string>

#include "base/stop.h"
#include "graph/onnx/functions.h"
#include "graph/onnx/proto.h"
#include "graph/onnx/tensor.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// What the graphs of one model share while they are read.
struct ModelParts {
  TensorReader& tensors;
  const OnnxFunctions& functions;
  const StopCheck& stop;
  std::int64_t calls = 0;         ///< of functions, so far
  std::int64_t called_nodes = 0;  ///< that these calls became
  std::int64_t called_bytes = 0;  ///< of the file, that these calls copied
};

/// Turns the main graph of a model into a Graph with `info`. The raw data of its initializers is
/// given up, so that a large model is not held twice. Calls of functions become the nodes of the
/// function, named after the call: "call/tensor". Subgraphs become closed (Subgraph). Throws
/// Error(kInvalidModel) and Error(kUnsupported) naming the node or value; functions that call
/// themselves, or grow beyond limits, are refused before they take memory.
Graph read_graph(onnx::GraphProto& proto, const ModelInfo& info, ModelParts& parts);

/// What a model is refused for: Error(code) with this message.
[[noreturn]] void refuse_model(const std::string& message,
                               ErrorCode code = ErrorCode::kInvalidModel);

/// Functions within functions, and graphs within graphs.
inline constexpr int kMaxNesting = 16;

}  // namespace qtool
