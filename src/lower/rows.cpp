// Networks over one axis run on the kernels for images. The input of a convolution or pool gets an
// axis of extent 1. The tensors after it keep that axis, up to a node that can handle one spatial
// axis only.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_traits.h"
#include "lower/passes.h"

namespace qtool {
namespace {

constexpr std::int64_t kRowRank = 3;  // [N, C, W]

class RowLifter {
 public:
  explicit RowLifter(Clusters& clusters) : c_(clusters) {}

  void run() {
    const std::vector<NodeId> order = c_.graph.nodes();
    for (const NodeId id : order) {
      if (begins(id)) {
        lift_window(id);
      } else if (follows(id)) {
        lift_elements(id);
      }
    }
    if (!images_.empty()) c_.graph.remove_dead_nodes();
  }

 private:
  [[nodiscard]] const Shape& shape_of(ValueId id) const { return c_.shaped.info(id).shape; }

  // Whether the node moves a window over one axis of a quantized tensor.
  [[nodiscard]] bool begins(NodeId id) const {
    const Node& node = c_.graph.node(id);
    const bool product = node.is("Conv") || node.is("ConvTranspose");
    const bool pool = node.is("MaxPool") || node.is("AveragePool");
    if ((!product && !pool) || node.has_output(1)) return false;
    if (shape_of(node.inputs[0]).rank() != kRowRank || !is_quantized(node.inputs[0])) return false;
    return pool || c_.weights(node.inputs[1]).has_value();
  }
  [[nodiscard]] bool is_quantized(ValueId id) const {
    return c_.source(id).has_value() || images_.contains(id);
  }

  // Whether the node treats all elements alike, whatever their axes, and reads a tensor that has
  // the added axis.
  [[nodiscard]] bool follows(NodeId id) const {
    const Node& node = c_.graph.node(id);
    if (node.outputs.size() != 1 || shape_of(node.outputs[0]).rank() != kRowRank) return false;
    if (std::ranges::none_of(node.inputs, [&](ValueId x) { return images_.contains(x); })) {
      return false;
    }
    if (node.is("QuantizeLinear") || node.is("DequantizeLinear")) {
      const std::optional<Affines> affines = c_.affines(id);
      return affines && affines->per_tensor();
    }
    if (node.is("Concat") || node.is("PRelu")) return true;
    const OpKind kind = traits_of(node).kind;
    return kind == OpKind::kElementwise || kind == OpKind::kCombining;
  }

  void lift_window(NodeId id) {
    const Node node = c_.graph.node(id);
    c_.graph.set_input(id, 0, image_of(node.inputs[0], id));
    if (!node.is("MaxPool") && !node.is("AveragePool")) lift_weights(id);
    add_height(node, c_.graph.attributes(id));
    lift_output(id);
  }

  void lift_weights(NodeId id) {
    const NodeId dequantize = c_.graph.value(c_.graph.node(id).inputs[1]).producer;
    Node copy = c_.graph.node(dequantize);
    const Tensor& integers = *c_.graph.value(copy.inputs[0]).constant;
    const Shape shape = with_axis(integers.shape());
    const std::string name = c_.graph.value(copy.inputs[0]).name;
    copy.inputs[0] = c_.shaped.add_constant(name, integers.clone().reshaped(shape));
    copy.attributes["axis"] = c_.affines(dequantize)->axis;  // this axis is before the added one
    copy.outputs = {c_.shaped.add_value(name + "_real", {DType::kFloat32, shape})};
    const ValueId weights = copy.outputs[0];
    copy.name.clear();
    c_.graph.add_node(std::move(copy), id);
    c_.graph.set_input(id, 1, weights);
  }

  void lift_elements(NodeId id) {
    const Node node = c_.graph.node(id);
    const bool all = traits_of(node).kind == OpKind::kCombining || node.is("PRelu");
    const std::size_t operands = all ? node.inputs.size() : 1;
    for (std::size_t i = 0; i < operands; ++i) {
      // A tensor of rank 1 broadcasts along the last axis and needs no added axis.
      if (shape_of(node.inputs[i]).rank() < 2) continue;
      c_.graph.set_input(id, i, image_of(node.inputs[i], id));
    }
    if (node.is("Concat")) {
      const std::int64_t axis = node.get_int("axis", 0);
      c_.graph.attributes(id)["axis"] = axis == 2 ? std::int64_t{3} : axis < -1 ? axis - 1 : axis;
    }
    lift_output(id);
  }

  // [..., C, W] as [..., C, 1, W].
  static Shape with_axis(const Shape& shape) {
    std::vector<std::int64_t> dims = shape.dims();
    dims.insert(dims.end() - 1, 1);
    return Shape(std::move(dims));
  }

  ValueId image_of(ValueId row, NodeId before) {
    const auto known = images_.find(row);
    if (known != images_.end()) return known->second;
    const Shape shape = with_axis(shape_of(row));
    if (!c_.graph.is_constant(row)) return c_.reshaped(row, shape, before);
    return c_.shaped.add_constant(c_.graph.value(row).name,
                                  c_.graph.value(row).constant->clone().reshaped(shape));
  }

  void lift_output(NodeId id) {
    const ValueId row = c_.graph.node(id).outputs[0];
    c_.reshape_output(id, with_axis(shape_of(row)));
    images_[row] = c_.graph.node(id).outputs[0];
  }

  Clusters& c_;
  std::map<ValueId, ValueId> images_;  // by tensor [N, C, W]: the same with the axis
};

}  // namespace

void lift_rows(Clusters& clusters) { RowLifter(clusters).run(); }

}  // namespace qtool
