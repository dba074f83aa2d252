#include "graph/element_functions.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "graph/constant_float.h"
#include "graph/id_map.h"
#include "graph/op_traits.h"

namespace qtool {
namespace {

/// A limit that no activation function made of single operators reaches.
constexpr std::size_t kMaxNodes = 16;

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), position_(node_limit(graph)), taken_(position_.size(), 0) {
    std::size_t next = 0;
    for (const NodeId id : graph.nodes()) position_[id] = next++;
  }

  std::vector<ElementFunction> run() {
    std::vector<ElementFunction> functions;
    const std::vector<NodeId>& order = graph_.nodes();
    for (auto last = order.rbegin(); last != order.rend(); ++last) {
      if (taken_[*last] != 0 || !is_step(*last)) continue;
      std::optional<ElementFunction> found = grow(*last);
      if (!found || std::ranges::all_of(found->nodes, [&](NodeId id) { return clamps(id); })) {
        continue;
      }
      for (const NodeId id : found->nodes) taken_[id] = 1;
      functions.push_back(std::move(*found));
    }
    return functions;
  }

 private:
  // Relu and Clip: a layer with weights can apply them to its own result.
  [[nodiscard]] bool clamps(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.is("Relu") || node.is("Clip");
  }

  [[nodiscard]] bool is_step(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.domain.empty() || node.outputs.size() != 1 || node.inputs.empty()) return false;
    if (traits_of(node).kind == OpKind::kElementwise) {
      for (std::size_t i = 1; i < node.inputs.size(); ++i) {
        if (node.has_input(i) && !constant_float(graph_, node.inputs[i])) return false;
      }
      return !graph_.is_constant(node.inputs[0]);
    }
    if (node.inputs.size() != 2 || !traits_of(node).takes_pairs) return false;
    const bool known = std::ranges::all_of(node.inputs, [&](ValueId input) {
      return input != kNoValue && (!graph_.is_constant(input) || is_number(input) ||
                                   channel_axis_from_end(graph_, input).has_value());
    });
    return known && !std::ranges::all_of(node.inputs,
                                         [&](ValueId input) { return graph_.is_constant(input); });
  }

  [[nodiscard]] bool is_number(ValueId id) const { return constant_float(graph_, id).has_value(); }

  // The largest function that ends in `last`.
  [[nodiscard]] std::optional<ElementFunction> grow(NodeId last) const {
    std::vector<NodeId> nodes{last};
    std::optional<ElementFunction> best;
    while (true) {
      const std::vector<ValueId> read = read_from_outside(nodes);
      if (read.size() == 1) best = ElementFunction{read[0], graph_.node(last).outputs[0], nodes};
      if (nodes.size() == kMaxNodes) break;
      const NodeId producer = latest_producer(read);
      if (producer == kNoNode || !is_step(producer) || taken_[producer] != 0 ||
          (read.size() == 1 && clamps(producer))) {
        break;
      }
      const ValueId result = graph_.node(producer).outputs[0];
      const bool ours = std::ranges::all_of(graph_.consumers(result), [&](NodeId reader) {
        return std::ranges::find(nodes, reader) != nodes.end();
      });
      if (!ours || graph_.is_output(result)) break;
      nodes.push_back(producer);
    }
    if (best) {
      std::ranges::sort(best->nodes, {}, [&](NodeId id) { return position_[id]; });
    }
    return best;
  }

  [[nodiscard]] std::vector<ValueId> read_from_outside(const std::vector<NodeId>& nodes) const {
    std::vector<ValueId> read;
    for (const NodeId id : nodes) {
      for (const ValueId input : graph_.node(id).inputs) {
        if (input == kNoValue || graph_.is_constant(input)) continue;
        const NodeId producer = graph_.value(input).producer;
        if (producer != kNoNode && std::ranges::find(nodes, producer) != nodes.end()) continue;
        if (std::ranges::find(read, input) == read.end()) read.push_back(input);
      }
    }
    return read;
  }

  // The producer that comes last in the order. Its result may depend on the other values, but the
  // other values do not depend on its result.
  [[nodiscard]] NodeId latest_producer(const std::vector<ValueId>& values) const {
    NodeId latest = kNoNode;
    for (const ValueId id : values) {
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNoNode) continue;
      if (latest == kNoNode || position_[producer] > position_[latest]) {
        latest = producer;
      }
    }
    return latest;
  }

  const Graph& graph_;
  IdMap<NodeId, std::size_t> position_;  // in the graph's order
  IdMap<NodeId, char> taken_;            // 1: part of a function
};

}  // namespace

std::optional<std::int64_t> channel_axis_from_end(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id)) return std::nullopt;
  const Tensor& constant = *graph.value(id).constant;
  const Shape& shape = constant.shape();
  if (constant.dtype() != DType::kFloat32 || shape.elements() < 2) return std::nullopt;
  for (std::int64_t axis = 0; axis + 1 < shape.rank(); ++axis) {
    if (shape[axis] == shape.elements()) return shape.rank() - axis;
  }
  return std::nullopt;
}

NodeId square_of(const Graph& graph, NodeId id) {
  const ValueId result = graph.node(id).outputs[0];
  if (graph.is_output(result) || graph.consumers(result).size() != 1) return kNoNode;
  const NodeId reader = graph.consumers(result)[0];
  const Node& node = graph.node(reader);
  const bool product = node.is("Mul") && node.inputs[0] == node.inputs[1];
  const bool power = node.is("Pow") && constant_float(graph, node.inputs[1]) == 2.0F;
  return product || power ? reader : kNoNode;
}

std::vector<ElementFunction> element_functions(const Graph& graph) { return Finder(graph).run(); }

}  // namespace qtool
