#include "quantize/placement/placement.h"

#include <algorithm>

#include "base/text.h"
#include "graph/element_functions.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "quantize/placement/element_types.h"
#include "quantize/placement/function_tables.h"
#include "quantize/placement/fusions.h"
#include "quantize/placement/node_refusals.h"
#include "quantize/placement/operands.h"

namespace qtool {

/// Makes the placement of one graph. place() is the last call.
class Placer {
 public:
  Placer(const Graph& graph, const Target& target, const PlacementOptions& options)
      : graph_(graph), target_(target), options_(options), types_(element_types(graph)) {
    const std::size_t nodes = node_limit(graph);
    refusal_.resize(nodes);
    commutes_.resize(nodes, 0);
    source_.resize(graph.value_limit());
    inside_.resize(graph.value_limit(), 0);
    wanted_.resize(graph.value_limit(), 0);
  }

  void refuse_by_operator() {
    const Tail tail = find_tail(graph_);
    for (const NodeId id : graph_.nodes()) {
      refusal_[id] = refuse_node(graph_, id, target_, types_, tail);
    }
    fixed_ = values_from_constants(graph_);
    for (const NodeId id : graph_.nodes()) {
      if (listed(id) && accepted(id)) refusal_[id] = refuse_fixed(graph_, id, fixed_);
    }
    functions_ = smooth_functions(graph_, target_, types_, tail, fixed_);
    exclude(match_nodes(graph_, options_.exclude));
  }

  void exclude(std::span<const NodeId> nodes) {
    for (const NodeId id : nodes) refusal_[id] = kExcluded;
  }

  /// Makes the placement, once it is known which nodes may not run on integers.
  Placement place() {
    fused_ = find_fusions(graph_, target_, refusal_, functions_);
    follow_sources();
    demand();
    return finish();
  }

 private:
  /// Follows shared affine maps through passing nodes, then refuses nodes that read a tensor
  /// without a range.
  void follow_sources() {
    for (std::size_t i = 0; i < source_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      source_[id] = id;
    }
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (const ElementFunction* function = function_of(id)) {
        if (!quantizable(function->input)) {
          refusal_[id] = no_range("input", function->input);
        }
        continue;
      }
      if (!listed(id) || !accepted(id) || fused_.fused_into[id] != kNoNode) continue;
      if (moves(id) && target_.movers == Movers::kCommute) continue;
      for (const std::size_t i : activation_inputs(graph_, id)) {
        if (!quantizable(node.inputs[i]) && !takes_in(id, node.inputs[i])) {
          refusal_[id] = no_range("input", node.inputs[i]);
        }
      }
      if (!moves(id) || !accepted(id)) continue;
      for (const ValueId output : node.outputs) {
        if (output != kNoValue) source_[output] = source_[node.inputs[0]];
      }
    }
  }

  /// The function that a node is part of, or null.
  [[nodiscard]] const ElementFunction* function_of(NodeId id) const {
    const std::int32_t index = fused_.function[id];
    return index < 0 ? nullptr : &functions_[static_cast<std::size_t>(index)];
  }

  /// Walks from the outputs back to the inputs. Finds the tensors that a product follows, directly
  /// or not, and those that a node reads as integers.
  void demand() {
    const std::vector<NodeId>& order = graph_.nodes();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      for (const ValueId output : graph_.node(*it).outputs) {
        if (output != kNoValue) decide(output);
      }
      commutes_[*it] = commutes(*it) ? 1 : 0;
    }
    for (const ValueId input : graph_.inputs()) decide(input);
  }

  Placement finish() {
    Placement placement;
    const auto add = [&](ValueId id) {
      if (id != kNoValue && wanted_[id] != 0) placement.quantized.push_back(id);
    };
    for (const ValueId input : graph_.inputs()) add(input);
    for (const NodeId id : graph_.nodes()) {
      for (const ValueId output : graph_.node(id).outputs) add(output);
      placement.nodes.push_back(describe(id));
      if (adds_inside(id)) ++placement.residuals;
    }
    std::erase_if(functions_,
                  [&](const ElementFunction& function) { return wanted_[function.output] == 0; });
    std::erase_if(fused_.inner_functions, [&](const ElementFunction& function) {
      return !runs_inside(function.nodes.back());
    });
    placement.functions = std::move(functions_);
    placement.inner_functions = std::move(fused_.inner_functions);
    placement.source = std::move(source_);
    return placement;
  }

  [[nodiscard]] std::string no_range(std::string_view what, ValueId id) const {
    return to_text("the table has no range for its ", what, " '", graph_.value(id).name, "'");
  }
  [[nodiscard]] bool listed(NodeId id) const { return is_listed(target_, graph_.node(id)); }
  [[nodiscard]] OpKind kind_of(NodeId id) const { return traits_of(graph_.node(id)).kind; }
  [[nodiscard]] bool moves(NodeId id) const { return kind_of(id) == OpKind::kMoving; }
  [[nodiscard]] bool accepted(NodeId id) const { return refusal_[id].empty(); }

  [[nodiscard]] bool quantizable(ValueId id) const {
    if (types_[id] != DType::kFloat32) return false;
    if (graph_.is_constant(id) || !options_.has_range) return true;
    return options_.has_range(graph_.value(source_[id]).name);
  }

  /// Whether an operand of an Add is the result of the product into which the Add is fused. It then
  /// exists only inside that product and needs no pair.
  [[nodiscard]] bool takes_in(NodeId id, ValueId operand) const {
    return fused_.residual[id] == operand && accepted(main_of(graph_.value(operand).producer));
  }

  /// Whether a product adds its result to a shortcut before it rounds. Its result then needs no
  /// pair.
  [[nodiscard]] bool adds_inside(NodeId id) const {
    return fused_.adder[id] != kNoNode && accepted(main_of(id)) &&
           runs_on_integers(fused_.adder[id]);
  }

  /// The node that a node runs inside of, or the node itself.
  [[nodiscard]] NodeId main_of(NodeId id) const {
    return fused_.fused_into[id] == kNoNode ? id : fused_.fused_into[id];
  }

  /// Whether the back-end will move a pair across a node: the node only moves values, and one of
  /// its outputs has a pair or is read by such a node.
  [[nodiscard]] bool commutes(NodeId id) const {
    if (!accepted(id) || !moves(id) || target_.movers != Movers::kCommute) return false;
    for (const ValueId output : graph_.node(id).outputs) {
      if (output == kNoValue) continue;
      if (wanted_[output] != 0) return true;
      for (const NodeId reader : graph_.consumers(output)) {
        if (commutes_[reader] != 0) return true;
      }
    }
    return false;
  }

  /// Whether what runs inside a product, or inside it up to this node, goes on behind this node.
  [[nodiscard]] bool runs_on_into(NodeId id) const {
    if (fused_.activation[id] != kNoNode) return true;
    const NodeId main = fused_.fused_into[id];
    return main != kNoNode && fused_.activation[main] != id;
  }

  /// The tensor that holds a node's result after its fused activation.
  [[nodiscard]] ValueId result_of(NodeId id) const {
    const NodeId activation = fused_.activation[id];
    return first_output(graph_.node(activation == kNoNode ? id : activation));
  }

  [[nodiscard]] bool any_wanted(NodeId id) const {
    const std::vector<ValueId>& outputs = graph_.node(id).outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return output != kNoValue && wanted_[output] != 0; });
  }

  [[nodiscard]] bool runs_on_integers(NodeId id) const {
    if (!accepted(id) || fused_.fused_into[id] != kNoNode) return false;
    if (const ElementFunction* function = function_of(id)) {
      return wanted_[function->output] != 0;
    }
    switch (kind_of(id)) {
      case OpKind::kConvolution:
      case OpKind::kMatrixProduct:
      case OpKind::kRecurrent:
      case OpKind::kAveraging:
        return true;  // they read integers and can write integers or reals
      case OpKind::kCombining:
      case OpKind::kElementwise:
        return wanted_[result_of(id)] != 0;
      case OpKind::kMoving:
        return target_.movers == Movers::kShareAffine && any_wanted(id);
      case OpKind::kOther:
        return false;
    }
    return false;
  }

  [[nodiscard]] bool reads_as_integers(NodeId reader, ValueId id) const {
    if (!runs_on_integers(reader)) return false;
    if (const ElementFunction* function = function_of(reader)) return id == function->input;
    // All inputs of a combining node are activations, and there may be very many.
    if (kind_of(reader) == OpKind::kCombining) return !takes_in(reader, id);
    const Node& node = graph_.node(reader);
    const auto inputs = activation_inputs(graph_, reader);
    return std::any_of(inputs.begin(), inputs.end(), [&](std::size_t i) {
      return node.inputs[i] == id && !takes_in(reader, id);
    });
  }

  /// Whether the integer kernel of a node, with its fused activation, can only write integers.
  [[nodiscard]] bool writes_integers_only(NodeId id) const {
    if (id == kNoNode || fused_.inner[id] != 0) return false;  // it can run behind the product
    const NodeId main = main_of(id);
    const auto& ops = target_.integer_result_ops;
    return accepted(main) &&
           std::find(ops.begin(), ops.end(), graph_.node(main).op_type) != ops.end();
  }

  /// Whether what is fused into a node runs there. A function does so only if anything reads its
  /// result as integers, or if it is added to a shortcut inside the product.
  [[nodiscard]] bool runs_inside(NodeId id) const {
    const NodeId main = fused_.fused_into[id];
    if (!runs_on_integers(main)) return false;
    const NodeId last = fused_.activation[main];
    return fused_.inner[id] == 0 || wanted_[first_output(graph_.node(last))] != 0 ||
           adds_inside(last);
  }

  void decide(ValueId id) {
    bool read_as_integers = false;
    bool inside = false;
    for (const NodeId reader : graph_.consumers(id)) {
      read_as_integers = read_as_integers || reads_as_integers(reader, id);
      inside = inside || (listed(reader) && is_product(kind_of(reader)));
      for (const ValueId output : graph_.node(reader).outputs) {
        inside = inside || (output != kNoValue && inside_[output] != 0);
      }
    }
    inside_[id] = inside ? 1 : 0;
    if (!quantizable(id)) return;
    const NodeId producer = graph_.value(id).producer;
    const ElementFunction* function = producer == kNoNode ? nullptr : function_of(producer);
    if (function != nullptr && id != function->output) return;
    if (producer != kNoNode && (runs_on_into(producer) || adds_inside(producer))) return;
    const bool for_producer = inside && !graph_.is_output(id) && writes_integers_only(producer);
    wanted_[id] = read_as_integers || for_producer ? 1 : 0;
  }

  /// Why what is fused into a node does not run there.
  [[nodiscard]] std::string why_outside(NodeId main) const {
    if (!accepted(main)) return std::string(kProductInFloat);
    const ValueId result = result_of(main);
    if (options_.has_range && !quantizable(result)) return no_range("result", result);
    return "its result is read in FP32 only";
  }

  [[nodiscard]] NodePlacement describe(NodeId id) const {
    const Node& node = graph_.node(id);
    const bool ranks = listed(id) && runs_on_integers(id);  // an ArgMax writes positions
    if (!computes_reals(node, types_) && !ranks) return {id, NodeRole::kNotReal, {}};
    if (!accepted(id)) return {id, NodeRole::kFloat, refusal_[id]};
    const NodeId main = fused_.fused_into[id];
    if (main != kNoNode) {
      if (runs_inside(id)) return {id, NodeRole::kFused, {}};
      return {id, NodeRole::kFloat, why_outside(main)};
    }
    if (runs_on_integers(id)) {
      return {id, moves(id) ? NodeRole::kPassing : NodeRole::kInteger, {}};
    }
    if (commutes_[id] != 0) return {id, NodeRole::kPassing, {}};
    const ElementFunction* function = function_of(id);
    const ValueId result = function != nullptr ? function->output : result_of(id);
    if (options_.has_range && !quantizable(result)) {
      return {id, NodeRole::kFloat, no_range("result", result)};
    }
    return {id, NodeRole::kFloat, "its result is read in FP32 only"};
  }

  const Graph& graph_;
  const Target& target_;
  const PlacementOptions& options_;
  ElementTypes types_;
  IdMap<NodeId, std::string> refusal_;  // why it stays FP32; empty: accepted
  Fusions fused_;
  std::vector<ElementFunction> functions_;
  IdMap<ValueId, char> fixed_;    // computed from constants alone
  IdMap<NodeId, char> commutes_;  // see commutes()
  IdMap<ValueId, ValueId> source_;
  IdMap<ValueId, char> inside_;  // a product follows, directly or not
  IdMap<ValueId, char> wanted_;  // gets a pair
};

Placement place(const Graph& graph, const Target& target, const PlacementOptions& options) {
  Placer placer(graph, target, options);
  placer.refuse_by_operator();
  Placement placement = placer.place();
  if (!options.has_range) return placement;
  // Calibration skips tensors that no integer node would read. So if a node would stay in FP32 even
  // with all ranges, the reason for that is given, not the missing range.
  PlacementOptions any_table = options;
  any_table.has_range = nullptr;
  const Placement ideal = place(graph, target, any_table);
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    if (placement.nodes[i].role == NodeRole::kFloat && ideal.nodes[i].role == NodeRole::kFloat) {
      placement.nodes[i].reason = ideal.nodes[i].reason;
    }
  }
  return placement;
}

struct Placements::State {
  State(const Graph& graph, const Target& target, PlacementOptions given)
      : options(std::move(given)), placer(graph, target, options) {
    placer.refuse_by_operator();
  }
  PlacementOptions options;
  Placer placer;  ///< as it is before nodes are left out
};

Placements::Placements(const Graph& graph, const Target& target, PlacementOptions options)
    : state_(std::make_unique<State>(graph, target, std::move(options))) {}

Placements::~Placements() = default;

Placement Placements::without(std::span<const NodeId> nodes) const {
  Placer placer = state_->placer;
  placer.exclude(nodes);
  return placer.place();
}

}  // namespace qtool
