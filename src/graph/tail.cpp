#include "graph/tail.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "graph/obstacles.h"
#include "graph/op_traits.h"
#include "graph/subgraphs.h"

namespace qtool {
namespace {

// Finds out for each value whether it depends on the data that the network reads (not only on their
// shapes) and whether the tail produces it.
class TailFinder {
 public:
  explicit TailFinder(const Graph& graph)
      : graph_(graph), of_data_(graph.value_limit(), 0), tail_root_(graph.value_limit(), kNoNode) {
    tail.root_of.resize(node_limit(graph), kNoNode);
    for (const ValueId input : graph.inputs()) of_data_[input] = 1;
    for (const NodeId id : graph.nodes()) visit(id);
  }

  [[nodiscard]] bool depends_on_data(ValueId id) const {
    return id != kNoValue && of_data_[id] != 0;
  }
  [[nodiscard]] bool is_of_tail(ValueId id) const {
    return id != kNoValue && tail_root_[id] != kNoNode;
  }

  Tail tail;

 private:
  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const bool reads_data =
        std::ranges::any_of(node.inputs, [&](ValueId input) { return depends_on_data(input); });
    const auto followed =
        std::ranges::find_if(node.inputs, [&](ValueId input) { return is_of_tail(input); });
    NodeId root = followed == node.inputs.end() ? kNoNode : tail_root_[*followed];
    if (root == kNoNode && reads_data && is_unplanned(id)) {
      root = id;
      tail.roots.push_back(id);
    }
    tail.root_of[id] = root;
    const bool shape_only = node.is("Shape") || node.is("Size");
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      of_data_[output] = reads_data && !shape_only ? 1 : 0;
      tail_root_[output] = root;
    }
  }

  [[nodiscard]] bool is_unplanned(NodeId id) const {
    const Node& node = graph_.node(id);
    if (counts_or_is_unknown(node)) return true;
    const OpTraits& traits = traits_of(node);
    for (std::size_t i = 0; i < node.inputs.size() && i < 8; ++i) {
      if ((traits.shape_inputs >> i & 1) != 0 && depends_on_data(node.inputs[i])) return true;
    }
    return node.has_subgraphs() && runs_unplanned(id);
  }

  static bool counts_or_is_unknown(const Node& node) {
    return !is_runnable(node.op_type, node.domain) || traits_of(node).counts_data;
  }

  // Whether a subgraph holds an operator for which counts_or_is_unknown() is true, or the data
  // decides how many slices a Loop stacks.
  [[nodiscard]] bool runs_unplanned(NodeId id) const {
    const Node& node = graph_.node(id);
    bool unplanned = false;
    for (const SubgraphUse& use : subgraphs_of(graph_, id)) {
      for_each_node(use.subgraph->graph, [&](const Graph& body, NodeId inner) {
        unplanned = unplanned || counts_or_is_unknown(body.node(inner));
      });
    }
    const std::size_t own = node.own_inputs();
    if (unplanned || !node.is("Loop") || own < 2) return unplanned;
    const bool gathers = node.outputs.size() > own - 2;
    return gathers && (depends_on_data(node.inputs[0]) || depends_on_data(node.inputs[1]));
  }

  const Graph& graph_;
  IdMap<ValueId, char> of_data_;      // 1: depends on the data
  IdMap<ValueId, NodeId> tail_root_;  // for values that the tail produces; else kNoNode
};

// Whether a node of the tail is a trained part of the network: a product with a factor that does
// not depend on the data, or an unknown operator with a constant of two axes or more. Every product
// in a subgraph counts as trained; its factors are not examined.
bool has_weights(const Graph& graph, NodeId id, const TailFinder& found) {
  const Node& node = graph.node(id);
  bool weighted = false;
  for (const SubgraphUse& use : subgraphs_of(graph, id)) {
    for_each_node(use.subgraph->graph, [&](const Graph& body, NodeId inner) {
      weighted = weighted || is_product(traits_of(body.node(inner)).kind);
    });
  }
  if (!is_runnable(node.op_type, node.domain)) {
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      return graph.is_constant(input) && graph.value(input).constant->shape().rank() >= 2;
    });
  }
  if (!is_product(traits_of(node).kind)) return weighted;
  return weighted || std::ranges::any_of(node.inputs, [&](ValueId input) {
           return input != kNoValue && !found.depends_on_data(input);
         });
}

// If a QDQ pair produces `id`, the tensor that the pair quantizes; otherwise `id`.
ValueId before_quantization(const Graph& graph, ValueId id) {
  const NodeId dequantize = graph.value(id).producer;
  if (dequantize == kNoNode || !graph.node(dequantize).is("DequantizeLinear")) return id;
  const NodeId quantize = graph.value(graph.node(dequantize).inputs[0]).producer;
  if (quantize == kNoNode || !graph.node(quantize).is("QuantizeLinear")) return id;
  return graph.node(quantize).inputs[0];
}

// Gives `id` the name of the tensor that it is the quantized form of.
void take_name(Graph& graph, ValueId id) {
  const ValueId original = before_quantization(graph, id);
  if (original == id || graph.is_output(original) || graph.is_input(original)) return;
  const std::string name = graph.value(original).name;
  graph.rename_value(original, graph.unique_name(to_text(name, "_unquantized")));
  graph.rename_value(id, name);
}

std::string reason_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!is_runnable(node.op_type, node.domain)) {
    return to_text(graph.describe(id), ": qtool does not run this operator");
  }
  return to_text(graph.describe(id), ": the data decides the shape of its result");
}

}  // namespace

Tail find_tail(const Graph& graph) { return std::move(TailFinder(graph).tail); }

std::optional<LeftOut> cut_tail(Graph& graph) {
  const TailFinder found(graph);
  if (found.tail.roots.empty()) return std::nullopt;
  LeftOut left_out;
  left_out.reason = reason_of(graph, found.tail.roots.front());
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.outputs()) {
    if (found.is_of_tail(output)) {
      left_out.outputs.push_back(graph.value(output).name);
    } else {
      outputs.push_back(output);
    }
  }
  std::vector<ValueId> instead;
  std::unordered_set<ValueId> seen(outputs.begin(), outputs.end());  // tensors before QDQ pairs
  for (const NodeId id : graph.nodes()) {
    if (found.tail.root(id) == kNoNode) continue;
    if (has_weights(graph, id, found)) return std::nullopt;
    for (const ValueId input : graph.node(id).inputs) {
      const bool shown =
          found.depends_on_data(input) && !found.is_of_tail(input) && !graph.is_input(input);
      if (!shown) continue;
      if (!seen.insert(before_quantization(graph, input)).second) continue;
      outputs.push_back(input);
      instead.push_back(input);
    }
  }
  if (left_out.outputs.empty() || outputs.empty()) return std::nullopt;
  graph.set_outputs(std::move(outputs));
  graph.remove_dead_nodes();
  std::vector<ValueId> inputs = graph.inputs();
  std::erase_if(inputs,
                [&](ValueId id) { return graph.consumers(id).empty() && !graph.is_output(id); });
  if (!inputs.empty()) graph.set_inputs(std::move(inputs));
  for (const ValueId id : instead) {
    take_name(graph, id);
    left_out.instead.push_back(graph.value(id).name);
  }
  return left_out;
}

}  // namespace qtool
