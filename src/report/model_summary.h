#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/coverage.h"
#include "report/text_table.h"

// What `inspect` says about a model.
namespace qtool {

/// An input or output as the model file declares it.
struct PortSummary {
  std::string name;
  std::string type;   ///< `float32`, or `?` when the file does not say
  std::string shape;  ///< `[N, 3, 224, 224]`, or `?`
};

struct OperatorCount {
  std::string op_type;  ///< with its domain in front unless it is ONNX's own
  std::int64_t nodes = 0;
  bool supported = true;  ///< the executor can run it
};

/// The names of a node and its outputs, as `--exclude` and `--range` expect them.
struct NodeNames {
  std::string node;  ///< its name, or the name of its first output
  std::string op_type;
  std::vector<std::string> outputs;
};

/// The contents of a model.
struct ModelSummary {
  std::string producer;
  std::int64_t opset = 0;  ///< of ONNX's own operators
  std::vector<PortSummary> inputs;
  std::vector<PortSummary> outputs;
  std::int64_t nodes = 0;
  std::vector<OperatorCount> operators;  ///< most frequent first, then by name
  /// Elements of all constants, including Constant nodes and the graphs inside nodes.
  std::int64_t parameters = 0;
  std::int64_t parameter_bytes = 0;
  std::map<std::string, std::string> metadata;
  std::vector<NodeNames> names;  ///< from names_of(); empty unless they were asked for

  [[nodiscard]] bool supported() const;
};

/// Counts the contents of a graph. Needs no shapes and accepts unknown operators. Cost: one pass
/// over the graph and the graphs inside its nodes.
ModelSummary summarize(const Graph& graph);

/// The work of a compiled model.
struct PlanSummary {
  std::int64_t macs = 0;          ///< multiplications of convolutions and matrix products
  std::int64_t integer_macs = 0;  ///< the part of `macs` on integers
  std::int64_t steps = 0;
  std::int64_t integer_steps = 0;
  std::int64_t arena_bytes = 0;
  std::vector<StepInfo> layers;  ///< the steps that multiply, in the order of execution
};

PlanSummary summarize(const Plan& plan);

/// The names of all nodes, in the graph's order.
std::vector<NodeNames> names_of(const Graph& graph);

/// Facts about a model that its file does not state. They are known if qtool can run the model.
struct RunSummary {
  PlanSummary plan;
  std::optional<Outlook> outlook;  ///< none for a model that is quantized already
};

/// `run`: the result of compiling the model for its declared shapes, if that succeeded.
std::string text_of(const ModelSummary& model, const std::optional<RunSummary>& run,
                    std::size_t width = kAnyWidth);
std::string json_of(const ModelSummary& model, const std::optional<RunSummary>& run);

}  // namespace qtool
