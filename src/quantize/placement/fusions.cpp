#include "quantize/placement/fusions.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "graph/clamp.h"
#include "quantize/placement/function_tables.h"

namespace qtool {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const Target& target, IdMap<NodeId, std::string>& refusal,
        std::vector<ElementFunction>& functions)
      : graph_(graph), target_(target), refusal_(refusal), functions_(functions) {
    const std::size_t nodes = refusal.size();
    fused_.fused_into.resize(nodes, kNoNode);
    fused_.activation.resize(nodes, kNoNode);
    fused_.residual.resize(nodes, kNoValue);
    fused_.adder.resize(nodes, kNoNode);
    fused_.function.resize(nodes, -1);
    fused_.inner.resize(nodes, 0);
    has_slopes_.resize(nodes, 0);
  }

  Fusions run() {
    fuse_squares();
    std::erase_if(functions_, [&](const ElementFunction& function) {
      return std::ranges::any_of(function.nodes,
                                 [&](NodeId id) { return refusal_[id] == kExcluded; });
    });
    fuse_functions();
    leave_out_single_nodes(target_, graph_, functions_);
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      for (const NodeId id : functions_[i].nodes) {
        refusal_[id].clear();
        fused_.function[id] = static_cast<std::int32_t>(i);
      }
    }
    fuse_activations();
    fuse_residuals();
    return std::move(fused_);
  }

 private:
  [[nodiscard]] bool accepted(NodeId id) const { return refusal_[id].empty(); }
  [[nodiscard]] bool in_table(NodeId id) const { return fused_.function[id] >= 0; }

  /// The square of a difference runs inside the Sub, so that the difference is not rounded.
  void fuse_squares() {
    for (const NodeId id : graph_.nodes()) {
      if (!graph_.node(id).is("Sub") || !accepted(id)) continue;
      const NodeId square = square_of(graph_, id);
      if (square == kNoNode || refusal_[square] == kExcluded) continue;
      if (!take_out_alone(functions_, square)) continue;
      refusal_[square].clear();
      fused_.fused_into[square] = id;
      fused_.activation[id] = square;
    }
  }

  /// A function that alone reads the result of a product runs inside the product. If the product
  /// stays in FP32, so does the function: calibration has no range for the tensor between them.
  void fuse_functions() {
    std::erase_if(functions_, [&](ElementFunction& function) {
      if (!runs_inside_product(graph_, target_, function)) return false;
      const NodeId product = graph_.value(function.input).producer;
      if (fused_.activation[product] != kNoNode) return false;
      if (!accepted(product)) {
        for (const NodeId id : function.nodes) refusal_[id] = kProductInFloat;
        return true;
      }
      for (const NodeId id : function.nodes) {
        refusal_[id].clear();
        fused_.fused_into[id] = product;
        fused_.inner[id] = 1;
      }
      fused_.activation[product] = function.nodes.back();
      has_slopes_[function.nodes.back()] = has_slopes(graph_, function) ? 1 : 0;
      fused_.inner_functions.push_back(std::move(function));
      return true;
    });
  }

  void fuse_activations() {
    for (const NodeId id : graph_.nodes()) {
      if (!accepted(id) || in_table(id)) continue;
      if (fused_.activation[id] != kNoNode || fused_.fused_into[id] != kNoNode) continue;
      const ValueId result = graph_.node(id).outputs[0];  // a GRU may give its last state alone
      if (result == kNoValue || graph_.is_output(result)) continue;
      const std::vector<NodeId>& readers = graph_.consumers(result);
      if (readers.size() != 1 || !accepted(readers[0]) || in_table(readers[0])) continue;
      const Node& reader = graph_.node(readers[0]);
      if (!reader.domain.empty() || reader.inputs[0] != result) continue;
      if (!target_.fuses(graph_.node(id).op_type, reader.op_type)) continue;
      // On integers, a Relu or a Clip with the lower bound 0 only saturates.
      const std::optional<Range> bounds = clamp_of(graph_, reader);
      if (!bounds || bounds->min != 0.0F) continue;
      fused_.fused_into[readers[0]] = id;
      fused_.activation[id] = readers[0];
    }
  }

  /// Finds for each Add the product that it can be fused into: the producer of one of its operands
  /// (of the first, if both qualify). Remembers that operand.
  void fuse_residuals() {
    const auto& producers = target_.residual_producers;
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (!accepted(id) || in_table(id) || !node.is("Add") || node.inputs[0] == node.inputs[1])
        continue;
      for (const ValueId operand : node.inputs) {
        const NodeId producer = graph_.value(operand).producer;
        if (producer == kNoNode || !accepted(producer) || graph_.is_output(operand) ||
            graph_.consumers(operand).size() != 1) {
          continue;
        }
        const NodeId product = has_slopes_[producer] != 0 ? fused_.fused_into[producer] : producer;
        if (std::ranges::find(producers, graph_.node(product).op_type) == producers.end()) continue;
        fused_.residual[id] = operand;
        fused_.adder[producer] = id;
        break;
      }
    }
  }

  const Graph& graph_;
  const Target& target_;
  IdMap<NodeId, std::string>& refusal_;  // why it stays FP32; empty: accepted
  std::vector<ElementFunction>& functions_;
  IdMap<NodeId, char> has_slopes_;  // of the last node of an inner function: see has_slopes()
  Fusions fused_;
};

}  // namespace

Fusions find_fusions(const Graph& graph, const Target& target, IdMap<NodeId, std::string>& refusal,
                     std::vector<ElementFunction>& functions) {
  return Fuser(graph, target, refusal, functions).run();
}

}  // namespace qtool
