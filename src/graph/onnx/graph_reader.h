#pragma once

#include <string>

#include "base/stop.h"
#include "graph/onnx/functions.h"
#include "graph/onnx/proto.h"
#include "graph/onnx/tensor.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The state that the graphs of one model share while they are read.
struct ModelParts {
  TensorReader& tensors;
  const OnnxFunctions& functions;
  const StopCheck& stop;
  std::int64_t calls = 0;         ///< calls of functions so far
  std::int64_t called_nodes = 0;  ///< nodes that these calls became
  std::int64_t called_bytes = 0;  ///< bytes of the file that these calls copied
};

/// Turns the main graph of a model into a Graph with `info`. The raw data of its initializers is
/// freed, so that a large model is not held twice. A call of a function becomes the nodes of the
/// function, with names that begin with the name of the call: "call/tensor". Subgraphs become
/// closed graphs, see Subgraph. Throws Error(kInvalidModel) and Error(kUnsupported) that name the
/// node or value. Functions that call themselves or grow beyond the limits are refused before they
/// take memory.
Graph read_graph(onnx::GraphProto& proto, const ModelInfo& info, ModelParts& parts);

/// Refuses a model: throws Error(code) with this message.
[[noreturn]] void refuse_model(const std::string& message,
                               ErrorCode code = ErrorCode::kInvalidModel);

/// The maximum depth of functions within functions and of graphs within graphs.
inline constexpr int kMaxNesting = 16;

}  // namespace qtool
