#include "exec/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "exec/operator.h"

namespace qtool {
namespace {

// Folding may not blow a small model up: a larger result stays a node.
constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostGrowth = 4;

}  // namespace

std::optional<std::vector<Tensor>> evaluate_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef* def = find_op(node.op_type, node.domain);
  if (def == nullptr) return std::nullopt;
  std::vector<std::optional<ValueInfo>> infos(graph.value_limit());
  std::vector<TensorView> values;
  std::vector<std::int32_t> inputs;
  std::int64_t input_bytes = 0;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input == kNoValue ? -1 : static_cast<std::int32_t>(values.size()));
    if (input == kNoValue) continue;
    const Tensor* constant = graph.value(input).constant.get();
    if (constant == nullptr) return std::nullopt;
    infos[static_cast<std::size_t>(input)] = ValueInfo{constant->dtype(), constant->shape()};
    values.emplace_back(*constant);
    input_bytes += constant->bytes();
  }
  const OpContext context(graph, id, infos);
  const std::vector<ValueInfo> shapes = def->infer(context);
  for (const ValueInfo& shape : shapes) {
    const std::int64_t bytes = shape.shape.elements() * size_of(shape.dtype);
    if (bytes > std::max(kFreeBytes, kMostGrowth * input_bytes)) return std::nullopt;
  }

  std::vector<Tensor> results;
  std::vector<std::int32_t> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool present = node.outputs[i] != kNoValue;
    if (present && i >= shapes.size()) return std::nullopt;
    results.push_back(present ? Tensor(shapes[i].dtype, shapes[i].shape) : Tensor());
    outputs.push_back(present ? static_cast<std::int32_t>(values.size()) : -1);
    if (!present) continue;
    values.emplace_back(results.back());
    infos[static_cast<std::size_t>(node.outputs[i])] = shapes[i];
  }
  if (def->make == nullptr) {
    const TensorView& source = values[static_cast<std::size_t>(inputs[0])];
    if (results[0].bytes() > 0) {
      std::memcpy(results[0].data(), source.data, static_cast<std::size_t>(results[0].bytes()));
    }
    return results;
  }
  const std::unique_ptr<Operator> op = def->make(context);
  Tensor scratch(DType::kUInt8, Shape{op->workspace_bytes()});
  op->run({values, inputs, outputs, scratch.data(), 1});
  return results;
}

}  // namespace qtool
