#include <cmath>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/passes/passes.h"

namespace qtool {
namespace {

// A BatchNormalization as y = x * scale + shift per channel.
struct Normalization {
  std::vector<double> scale;
  std::vector<double> shift;
};

const Tensor* float_constant(const Graph& graph, const Node& node, std::size_t index) {
  if (!node.has_input(index)) return nullptr;
  const Tensor* tensor = graph.value(node.inputs[index]).constant.get();
  return tensor != nullptr && tensor->dtype() == DType::kFloat32 ? tensor : nullptr;
}

std::optional<Normalization> normalization_of(const Graph& graph, const Node& node) {
  if (!node.is("BatchNormalization") || node.get_int("training_mode", 0) != 0) return std::nullopt;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.has_output(i)) return std::nullopt;
  }
  const Tensor* parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    parameters[i] = float_constant(graph, node, i + 1);
    if (parameters[i] == nullptr || parameters[i]->shape() != parameters[0]->shape() ||
        parameters[i]->shape().rank() != 1) {
      return std::nullopt;
    }
  }
  const double epsilon = static_cast<double>(node.get_float("epsilon", 1e-5F));
  Normalization result;
  const auto count = static_cast<std::size_t>(parameters[0]->elements());
  for (std::size_t c = 0; c < count; ++c) {
    const auto at = [&](std::size_t i) {
      return static_cast<double>(parameters[i]->values<float>()[c]);
    };
    const double scale = at(0) / std::sqrt(at(3) + epsilon);
    const double shift = at(1) - at(2) * scale;
    // This happens, for example, for a variance below -epsilon. The node is kept, and the executor
    // reports the error.
    if (!std::isfinite(scale) || !std::isfinite(shift)) return std::nullopt;
    result.scale.push_back(scale);
    result.shift.push_back(shift);
  }
  return result;
}

// Maps the weights of an operator to its output channels: channel(i) is the channel of element i.
struct ChannelMap {
  std::int64_t channels = 0;
  std::int64_t block = 1;      // consecutive elements of one channel
  std::int64_t per_group = 0;  // channels of a group; they repeat within the group
  std::int64_t group_elements = 0;

  [[nodiscard]] std::size_t channel(std::int64_t element) const {
    const std::int64_t group = element / group_elements;
    return static_cast<std::size_t>(group * per_group + element / block % per_group);
  }
};

std::optional<ChannelMap> channel_map(const Node& node, const Tensor& weight) {
  const Shape& shape = weight.shape();
  if (shape.elements() == 0) return std::nullopt;
  if (node.is("Conv") && shape.rank() >= 3) {
    return ChannelMap{shape[0], shape.elements() / shape[0], shape[0], shape.elements()};
  }
  if (node.is("ConvTranspose") && shape.rank() >= 3) {
    const std::int64_t groups = node.get_int("group", 1);
    if (groups < 1 || shape[0] % groups != 0) return std::nullopt;
    return ChannelMap{shape[1] * groups, shape.elements() / (shape[0] * shape[1]), shape[1],
                      shape.elements() / groups};
  }
  if (node.is("Gemm") && shape.rank() == 2) {
    const bool rows = node.get_int("transB", 0) != 0;
    const std::int64_t channels = rows ? shape[0] : shape[1];
    return ChannelMap{channels, rows ? shape[1] : 1, channels, shape.elements()};
  }
  return std::nullopt;
}

// The bias as one number per channel; std::nullopt when it is not constant or does not have that
// form.
std::optional<std::vector<double>> bias_of(const Graph& graph, const Node& node,
                                           std::int64_t channels) {
  std::vector<double> bias(static_cast<std::size_t>(channels), 0.0);
  if (!node.has_input(2)) return bias;
  const Tensor* tensor = float_constant(graph, node, 2);
  if (tensor == nullptr) return std::nullopt;
  const std::int64_t rank = tensor->shape().rank();
  const bool per_channel = rank >= 1 && tensor->shape()[rank - 1] == channels;
  const bool single = tensor->elements() == 1;
  if (!(per_channel && tensor->elements() == channels) && !single) return std::nullopt;
  if (!node.is("Gemm") && (single ? channels != 1 : rank != 1)) return std::nullopt;
  const double factor = node.is("Gemm") ? static_cast<double>(node.get_float("beta", 1.0F)) : 1.0;
  const std::span<const float> values = tensor->values<float>();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    bias[c] = factor * static_cast<double>(values[single ? 0 : c]);
  }
  return bias;
}

// Gives input `index` of the node a new constant. The constant keeps the old name if no other node
// reads the old constant.
void replace_constant(Graph& graph, NodeId id, std::size_t index, const std::string& new_name,
                      Tensor tensor) {
  auto shared = std::make_shared<const Tensor>(std::move(tensor));
  const Node& node = graph.node(id);
  if (node.has_input(index)) {
    const ValueId old = node.inputs[index];
    std::size_t uses = 0;
    for (const ValueId input : node.inputs) uses += input == old ? 1 : 0;
    if (graph.consumers(old).size() == 1 && uses == 1 && !graph.is_output(old)) {
      graph.set_constant(old, std::move(shared));
      return;
    }
  }
  graph.set_input(id, index, graph.add_constant(graph.unique_name(new_name), std::move(shared)));
}

bool fold_into(Graph& graph, NodeId id, const Normalization& norm) {
  const Node& node = graph.node(id);
  const Tensor* weight = float_constant(graph, node, 1);
  if (weight == nullptr || node.outputs.size() != 1) return false;
  const std::optional<ChannelMap> map = channel_map(node, *weight);
  if (!map || map->channels != static_cast<std::int64_t>(norm.scale.size())) return false;
  const std::optional<std::vector<double>> bias = bias_of(graph, node, map->channels);
  if (!bias) return false;

  Tensor new_weight(DType::kFloat32, weight->shape());
  const std::span<const float> from = weight->values<float>();
  const std::span<float> to = new_weight.values<float>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double scale = norm.scale[map->channel(static_cast<std::int64_t>(i))];
    to[i] = static_cast<float>(static_cast<double>(from[i]) * scale);
  }
  Tensor new_bias(DType::kFloat32, {map->channels});
  for (std::size_t c = 0; c < bias->size(); ++c) {
    new_bias.values<float>()[c] = static_cast<float>((*bias)[c] * norm.scale[c] + norm.shift[c]);
  }
  const std::string name = graph.value(node.inputs[1]).name;
  replace_constant(graph, id, 1, to_text(name, "_folded"), std::move(new_weight));
  replace_constant(graph, id, 2, to_text(name, "_bias"), std::move(new_bias));
  if (graph.node(id).has("beta")) graph.attributes(id)["beta"] = 1.0F;
  return true;
}

}  // namespace

void fold_batch_norm(Graph& graph) {
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const std::optional<Normalization> norm = normalization_of(graph, node);
    if (!norm || !node.has_output(0)) continue;
    const ValueId before = node.inputs[0];
    const ValueId after = node.outputs[0];
    if (before == kNoValue || graph.is_output(before) || graph.consumers(before).size() != 1) {
      continue;
    }
    const NodeId producer = graph.value(before).producer;
    if (producer == kNoNode || !fold_into(graph, producer, *norm)) continue;
    const std::string gone = graph.value(before).name;
    disconnect(graph, id);
    graph.set_output(producer, 0, after);
    add_alias(graph, gone, graph.value(after).name);
  }
  graph.remove_dead_nodes();
  close_aliases(graph);
}

}  // namespace qtool
