#include "quantize/emission/wide.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/node_name.h"
#include "quantize/placement/wide_tensors.h"

namespace qtool {
namespace {

class WideEmitter {
 public:
  WideEmitter(const Decisions& decisions, const std::unordered_map<ValueId, ValueId>& rounded,
              Graph& emitted, QuantizeReport& report)
      : decisions_(decisions), rounded_(rounded), graph_(emitted), report_(report) {}

  void add(const WideTensor& wide) {
    const ValueId high = rounded_.at(wide.tensor);  // the result of the pair of the tensor
    for (const ElementFunction& function : wide.functions) read_real(function, high);
    if (wide.layers.empty()) return;
    for (const NodeId mover : wide.movers) move_real(mover);
    const ValueId low = low_part(wide.tensor, high);
    for (const NodeId layer : wide.layers) add_layer(layer, low);
  }

 private:
  /// Makes the nodes of the function read its input before it is rounded.
  void read_real(const ElementFunction& function, ValueId high) {
    for (const NodeId id : function.nodes) {
      for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
        if (graph_.node(id).inputs[i] == high) graph_.set_input(id, i, function.input);
      }
    }
  }

  /// Makes a node that only moves elements read them before they are rounded.
  void move_real(NodeId mover) {
    const ValueId real = decisions_.graph.node(mover).inputs[0];
    const auto pair = rounded_.find(real);
    if (pair != rounded_.end() && graph_.node(mover).inputs[0] == pair->second) {
      graph_.set_input(mover, 0, real);
    }
  }

  ValueId add_node(std::string_view op, std::vector<ValueId> inputs, const std::string& name) {
    const ValueId output = graph_.add_value(graph_.unique_name(name));
    add_node(op, std::move(inputs), output);
    return output;
  }
  void add_node(std::string_view op, std::vector<ValueId> inputs, ValueId output) {
    add_op(graph_, op, std::move(inputs), output);
    ++report_.added_nodes;
  }

  /// The rounding error of `x`, quantized with a step that is smaller by kWideSteps.
  ValueId low_part(ValueId x, ValueId high) {
    const Scheme& scheme = decisions_.target.activations;
    const float step = decisions_.activations.by_value[x].value().scale / kWideSteps;
    const std::string stem = name_stem(graph_.value(x).name);
    const ValueId scale =
        graph_.add_constant(graph_.unique_name(to_text(stem, "_ls")), Tensor::scalar<float>(step));
    const ValueId zero =
        graph_.add_constant(graph_.unique_name(to_text(stem, "_lz")),
                            scheme.dtype == DType::kUInt8 ? Tensor::scalar<std::uint8_t>(128)
                                                          : Tensor::scalar<std::int8_t>(0));
    const ValueId rest = add_node("Sub", {x, high}, to_text(stem, "_low"));
    const ValueId integers = add_node("QuantizeLinear", {rest, scale, zero}, to_text(stem, "_lq"));
    return add_node("DequantizeLinear", {integers, scale, zero}, to_text(stem, "_ldq"));
  }

  /// Runs the layer on `low` too, and adds the result to that of the layer.
  void add_layer(NodeId id, ValueId low) {
    const Node node = graph_.node(id);
    const ValueId result = node.outputs[0];
    const std::string stem = name_stem(graph_.value(result).name);
    const ValueId of_high = graph_.add_value(graph_.unique_name(to_text(stem, "_high")));
    const ValueId of_low = graph_.add_value(graph_.unique_name(to_text(stem, "_low")));
    graph_.set_output(id, 0, of_high);
    Node second = node;
    second.name = graph_.unique_name(to_text(name_stem(name_of(decisions_.graph, id)), "_low"));
    second.inputs = {low, node.inputs[1]};
    second.outputs = {of_low};
    report_.second_halves.push_back(second.name);
    graph_.add_node(std::move(second));
    ++report_.added_nodes;
    add_node("Add", {of_high, of_low}, result);
  }

  const Decisions& decisions_;
  const std::unordered_map<ValueId, ValueId>& rounded_;
  Graph& graph_;
  QuantizeReport& report_;
};

}  // namespace

void emit_wide(const Decisions& decisions, const std::unordered_map<ValueId, ValueId>& rounded,
               Graph& emitted, QuantizeReport& report) {
  const Placement& placement = decisions.placement;
  if (placement.wide.empty()) return;
  WideEmitter emitter(decisions, rounded, emitted, report);
  for (const WideTensor& wide : placement.wide) emitter.add(wide);
  emitted.remove_dead_nodes();
  emitted.sort();
  emitted.check();
  report.quantized_tensors = std::ranges::count_if(placement.quantized, [&](ValueId id) {
    return emitted.value(rounded.at(id)).producer != kNoNode;
  });
}

}  // namespace qtool
