#include "quantize/added_bias.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "quantize/emission/emit.h"

namespace qtool {

std::optional<AddedBias> added_bias(const Graph& graph, NodeId id, const WeightPorts& ports) {
  const Node& node = graph.node(id);
  if (!node.is("MatMul")) return std::nullopt;
  const ValueId result = node.outputs[0];
  if (graph.is_output(result)) return std::nullopt;
  const std::vector<NodeId>& readers = graph.consumers(result);
  if (readers.size() != 1 || !graph.node(readers[0]).is("Add")) return std::nullopt;
  const Node& add = graph.node(readers[0]);
  const std::size_t input = add.inputs[0] == result ? 1 : 0;
  if (!graph.is_constant(add.inputs[input])) return std::nullopt;
  const Tensor& constant = *graph.value(add.inputs[input]).constant;
  const Shape& shape = constant.shape();
  if (constant.dtype() != DType::kFloat32 || shape.rank() == 0 || ports.channels == 0 ||
      shape[shape.rank() - 1] != ports.channels) {
    return std::nullopt;
  }
  return AddedBias{readers[0], input};
}

void add_to_added_bias(Graph& graph, const AddedBias& added, std::span<const float> more) {
  const Value& old = graph.value(graph.node(added.add).inputs[added.input]);
  Tensor sum = old.constant->clone();
  const auto values = sum.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += more[i % more.size()];
  const std::string name = graph.unique_name(to_text(name_stem(old.name), "_corrected"));
  graph.set_input(added.add, added.input, graph.add_constant(name, std::move(sum)));
}

void add_to_recurrent_bias(Graph& graph, NodeId id, std::span<const float> more) {
  const Node& node = graph.node(id);
  const Shape& weights = graph.value(node.inputs[2]).constant->shape();
  const std::int64_t directions = weights[0];
  const std::int64_t rows = weights[1];
  const bool has_bias = node.has_input(3);
  const Value& named = graph.value(has_bias ? node.inputs[3] : node.inputs[2]);
  // For each direction: the biases of W, then the biases of R.
  Tensor bias =
      has_bias ? to_float32(*named.constant) : Tensor(DType::kFloat32, {directions, 2 * rows});
  const auto values = bias.values<float>();
  for (std::int64_t d = 0; d < directions; ++d) {
    for (std::int64_t row = 0; row < rows; ++row) {
      values[static_cast<std::size_t>(2 * d * rows + row)] +=
          more[static_cast<std::size_t>(d * rows + row)];
    }
  }
  const std::string name =
      graph.unique_name(to_text(name_stem(named.name), has_bias ? "_corrected" : "_bias"));
  graph.set_input(id, 3, graph.add_constant(name, std::move(bias)));
}

}  // namespace qtool
