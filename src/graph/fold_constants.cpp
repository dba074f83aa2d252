#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "graph/passes.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20;

std::int64_t constant_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const ValueId id : graph.living_values()) {
    if (graph.is_constant(id)) bytes += graph.value(id).constant->bytes();
  }
  return bytes;
}

template <typename T>
std::shared_ptr<const Tensor> list_tensor(const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return std::make_shared<const Tensor>(Tensor::of<T>({count}, std::span<const T>(values)));
}

// The tensor a Constant node stands for, or null for strings.
std::shared_ptr<const Tensor> value_of(const Node& node) {
  if (auto tensor = node.get_tensor("value")) return tensor;
  if (node.has("value_float")) {
    return std::make_shared<const Tensor>(Tensor::scalar(node.get_float("value_float", 0.0F)));
  }
  if (node.has("value_int")) {
    return std::make_shared<const Tensor>(Tensor::scalar(node.get_int("value_int", 0)));
  }
  if (node.has("value_ints")) return list_tensor(node.get_ints("value_ints", {}));
  const auto floats = node.attributes.find("value_floats");
  if (floats != node.attributes.end()) {
    if (const auto* list = std::get_if<std::vector<float>>(&floats->second)) {
      return list_tensor(*list);
    }
  }
  return nullptr;
}

bool may_fold(const Graph& graph, const Node& node) {
  constexpr std::array kKept = {"QuantizeLinear", "DequantizeLinear",  "Bernoulli",
                                "Multinomial",    "RandomNormal",      "RandomNormalLike",
                                "RandomUniform",  "RandomUniformLike", "Constant"};
  const bool kept = std::any_of(kKept.begin(), kKept.end(),
                                [&](const char* op_type) { return node.op_type == op_type; });
  return !kept && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return input == kNoValue || graph.is_constant(input);
  });
}

// Whether results of reals are larger than the constants they are made of, as those of Expand, Tile
// or Pad: a file would store the large form. Lists, such as the parameters of a normalization, may
// grow; so may integers, which are shapes and indices.
bool expands(const Graph& graph, const Node& node, const std::vector<Tensor>& results) {
  constexpr std::int64_t kMostListBytes = std::int64_t{64} << 10;
  std::int64_t read = 0;
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) read += graph.value(input).constant->bytes();
  }
  return std::any_of(results.begin(), results.end(), [&](const Tensor& result) {
    const bool real = result.dtype() == DType::kFloat32 || result.dtype() == DType::kFloat64;
    if (!real || result.bytes() <= read) return false;
    const std::vector<std::int64_t>& dims = result.shape().dims();
    const bool list =
        std::count_if(dims.begin(), dims.end(), [](std::int64_t d) { return d != 1; }) <= 1;
    return !list || result.bytes() > kMostListBytes;
  });
}

// Errors of tensors and shapes do not know the node.
std::optional<std::vector<Tensor>> evaluate_named(const Graph& graph, NodeId id,
                                                  const Evaluate& evaluate) {
  try {
    return evaluate(graph, id);
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string node = graph.describe(id);
    if (message.starts_with(node)) throw;
    throw Error(error.code(), concat(node, ": ", message));
  }
}

}  // namespace

void fold_constant_nodes(Graph& graph) {
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!node.is("Constant") || !node.has_output(0)) continue;
    const ValueId output = node.outputs[0];
    std::shared_ptr<const Tensor> tensor = value_of(node);
    if (tensor == nullptr) continue;
    graph.set_constant(output, std::move(tensor));  // which takes it from the node
  }
  graph.remove_dead_nodes();
}

void fold_constants(Graph& graph, const Evaluate& evaluate) {
  std::int64_t budget = kFreeBytes + 4 * constant_bytes(graph);
  fold_constant_nodes(graph);
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    if (!may_fold(graph, graph.node(id))) continue;
    std::optional<std::vector<Tensor>> results = evaluate_named(graph, id, evaluate);
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    if (!results || results->size() < outputs.size()) continue;
    std::int64_t bytes = 0;
    for (const Tensor& result : *results) bytes += result.bytes();
    if (bytes > budget || expands(graph, graph.node(id), *results)) continue;
    budget -= bytes;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoValue) continue;
      graph.set_constant(outputs[i], std::make_shared<const Tensor>(std::move((*results)[i])));
    }
  }
  graph.remove_dead_nodes();
}

}  // namespace qtool
