#include "quantize/placement/node_refusals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "graph/constant_float.h"
#include "graph/op_traits.h"
#include "graph/rank.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/integer_weights.h"

namespace qtool {
namespace {

/// The largest number of products of u8 and weights whose sum fits 32 bits.
std::int64_t max_depth(const Scheme& weights) {
  return ((std::int64_t{1} << 31) - 1) / (std::int64_t{255} * largest_magnitude(weights));
}

std::string refuse_constant(const Graph& graph, ValueId id, std::string_view what) {
  const Tensor& tensor = *graph.value(id).constant;
  if (tensor.dtype() != DType::kFloat32) {
    return to_text("its ", what, " is ", name_of(tensor.dtype()), ", not float32");
  }
  if (tensor.elements() == 0) return to_text("its ", what, " is empty");
  if (!all_finite(tensor.values<float>())) {
    return to_text("its ", what, " '", graph.value(id).name, "' has NaN or infinite values");
  }
  return {};
}

std::string refuse_bias(const Graph& graph, const WeightPorts& ports) {
  if (ports.bias == kNoValue) return {};
  if (!graph.is_constant(ports.bias)) return "its bias is not a constant";
  const std::string reason = refuse_constant(graph, ports.bias, "bias");
  if (!reason.empty()) return reason;
  const Tensor& bias = *graph.value(ports.bias).constant;
  const Shape& shape = bias.shape();
  const bool row = shape.rank() == 0 || shape[shape.rank() - 1] == bias.elements();
  if (!row || (bias.elements() != 1 && bias.elements() != ports.channels)) {
    return "its bias is not one number per output channel";
  }
  return {};
}

struct StoredBytes {
  std::int64_t real = 0;
  std::int64_t integer = 0;
  std::int64_t free = 0;  ///< bytes by which `integer` may exceed `real`
};

/// The bytes of the weights of a layer and, if `real_bias` has a value, of its bias, which takes
/// `real_bias` bytes in FP32.
StoredBytes stored_bytes(const Node& node, const WeightPorts& ports, const Target& target,
                         std::optional<std::int64_t> real_bias) {
  constexpr std::int64_t kFree = 400;  // bytes that quantizing may add to a tensor
  const bool per_channel = target.granularity_of(node.op_type) == Granularity::kPerChannel;
  const auto& zeros = target.explicit_zero_ops;
  const bool has_zeros = target.weights.symmetry == Symmetry::kAsymmetric ||
                         std::find(zeros.begin(), zeros.end(), node.op_type) != zeros.end();
  const std::int64_t weights = ports.depth * ports.channels;
  const std::int64_t scales = per_channel ? ports.channels : 1;
  StoredBytes bytes{4 * weights, weights + (has_zeros ? 5 : 4) * scales, kFree};
  if (real_bias) {  // int32, with an FP32 scale for each channel
    bytes.real += *real_bias;
    bytes.integer += 8 * ports.channels;
    bytes.free += kFree;
  }
  return bytes;
}

/// Refuses layers that quantizing would make larger: with one or two products per output channel,
/// the scales may take more bytes than int8 saves.
std::string refuse_expansion(const Graph& graph, const Node& node, const WeightPorts& ports,
                             const Target& target) {
  if (target.constants == ConstantForm::kReals) return {};  // FP32 weights are stored
  std::optional<std::int64_t> bias;
  if (ports.bias != kNoValue) bias = graph.value(ports.bias).constant->bytes();
  const StoredBytes bytes = stored_bytes(node, ports, target, bias);
  if (bytes.integer <= bytes.real + bytes.free) return {};
  return to_text("its integers and scales would take ", bytes.integer, " bytes, in FP32 they take ",
                 bytes.real);
}

std::string refuse_recurrent(const Graph& graph, NodeId id, const Target& target) {
  const std::vector<WeightPorts> both = stored_weight_ports(graph, id);
  if (both.empty()) return "its weights are not two constants of rank 3 with the same rows";
  for (const WeightPorts& ports : both) {
    std::string reason = refuse_constant(graph, ports.weight, "weight");
    if (reason.empty()) reason = refuse_expansion(graph, graph.node(id), ports, target);
    if (!reason.empty()) return reason;
    const std::int64_t depth = graph.value(ports.weight).constant->shape()[2];
    if (depth > max_depth(target.weights)) {
      return to_text("a sum of ", depth, " products could overflow 32 bits");
    }
  }
  return {};
}

std::string refuse_product(const Graph& graph, NodeId id, const Target& target) {
  const Node& node = graph.node(id);
  if (is_recurrent(graph, id)) return refuse_recurrent(graph, id, target);
  if (!graph.is_constant(node.inputs[1])) {
    // Only MatMul multiplies two activations; convolution kernels need constant weights.
    return node.op_type == "MatMul" ? std::string() : "its weights are not a constant";
  }
  std::string reason = refuse_constant(graph, node.inputs[1], "weight");
  if (!reason.empty()) return reason;
  const Shape& shape = graph.value(node.inputs[1]).constant->shape();
  if (traits_of(node).kind == OpKind::kConvolution) {
    const auto& axes = target.conv_spatial_axes;
    if (std::find(axes.begin(), axes.end(), shape.rank() - 2) == axes.end()) {
      return to_text("its weight has ", shape.rank() - 2, " spatial axes");
    }
    if (node.is("ConvTranspose") && node.get_int("group", 1) != 1) {
      return "its groups share the scales of their output channels";
    }
  } else if (shape.rank() != 2) {
    return to_text("its constant operand has rank ", shape.rank(), ", not 2");
  }
  if (node.op_type == "Gemm" && node.get_int("transA", 0) != 0) {
    return "its activation is transposed";
  }
  const auto ports = weight_ports(graph, id);
  if (!ports) return "its weights are of an unknown form";
  if (!std::isfinite(ports->weight_factor) || !std::isfinite(ports->bias_factor)) {
    return "alpha or beta is not finite";
  }
  if (ports->depth > max_depth(target.weights)) {
    return to_text("a sum of ", ports->depth, " products could overflow 32 bits");
  }
  reason = refuse_bias(graph, *ports);
  return reason.empty() ? refuse_expansion(graph, node, *ports, target) : reason;
}

// Whether a Resize interpolates linearly between the pixels of an image, one axis after the other.
bool is_linear(const Graph& graph, const Node& node) {
  const std::int64_t rank = rank_of(graph, node.inputs[0]).value_or(0);
  return node.get_string("mode", "nearest") == "linear" && rank >= 3 && rank <= 5 &&
         node.get_int("antialias", 0) == 0;
}

std::string refuse_moving(const Graph& graph, const Node& node, const Target& target) {
  if (node.op_type == "Pad" && node.get_string("mode", "constant") == "constant" &&
      node.has_input(2)) {
    if (constant_float(graph, node.inputs[2]) != 0.0F) return "it pads with a value other than 0";
  }
  if (node.op_type == "Resize") {
    const std::string mode = node.get_string("mode", "nearest");
    const bool linear = target.interpolates && is_linear(graph, node);
    if (mode != "nearest" && !linear) return to_text("it interpolates (mode '", mode, "')");
    const std::string crop = "tf_crop_and_resize";  // writes a value of its own outside the image
    if (node.get_string("coordinate_transformation_mode", "") == crop) {
      return to_text("it extrapolates (mode '", crop, "')");
    }
  }
  if (node.op_type == "MaxPool" && node.has_output(1)) return "it returns indices";
  return {};
}

// Whether a value is a root or a power, as the divisor of a normalization is.
bool is_root(const Graph& graph, ValueId id) {
  const NodeId producer = graph.value(id).producer;
  return producer != kNoNode && (graph.node(producer).is("Sqrt") || graph.node(producer).is("Pow"));
}

std::string refuse_combining(const Graph& graph, const Node& node) {
  if ((node.is("Min") || node.is("Max")) && node.inputs.size() != 2) {
    return to_text("it has ", node.inputs.size(), " operands, not 2");
  }
  if (!node.is("Div")) return {};
  // If a small divisor changes by one integer, the result changes many times over.
  if (graph.is_constant(node.inputs[0])) return "it divides a constant";
  if (is_root(graph, node.inputs[1])) return "it divides by a root, as a normalization does";
  return {};
}

// Refuses averages of anything but all pixels of each channel.
std::string refuse_mean(const Graph& graph, const Node& node) {
  const std::optional<std::int64_t> rank = rank_of(graph, node.inputs[0]);
  if (!rank) return "the rank of its input is unknown";
  if (averages_pixels(node.get_ints("axes", {}), *rank)) return {};
  return "it does not average the pixels of each channel";
}

std::string refuse_operands(const Graph& graph, NodeId id, const Target& target,
                            const ElementTypes& types) {
  const Node& node = graph.node(id);
  const std::vector<std::size_t> reals = activation_inputs(graph, id);
  bool any_computed = false;
  for (const std::size_t i : reals) {
    const ValueId value = node.inputs[i];
    const auto& type = types[value];
    const std::string& name = graph.value(value).name;
    if (!type) return to_text("the element type of '", name, "' is unknown");
    if (*type != DType::kFloat32)
      return to_text("'", name, "' is ", name_of(*type), ", not float32");
    if (graph.is_constant(value)) {
      std::string reason = refuse_constant(graph, value, "constant operand");
      if (!reason.empty()) return reason;
    } else {
      any_computed = true;
    }
  }
  if (!any_computed) return "it reads constants only";
  const OpKind kind = traits_of(node).kind;
  if (is_product(kind)) return refuse_product(graph, id, target);
  if (kind == OpKind::kCombining) return refuse_combining(graph, node);
  if (node.is("ReduceMean")) return refuse_mean(graph, node);
  if (kind == OpKind::kMoving && target.movers == Movers::kShareAffine) {
    return refuse_moving(graph, node, target);
  }
  if (node.op_type == "Clip") {
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (node.has_input(i) && !graph.is_constant(node.inputs[i])) {
        return "its bounds are not constants";
      }
    }
  }
  return {};
}

// Whether a node whose input and result share one scale reads a tensor, directly or after nodes
// that move it.
bool shares_affine(const Graph& graph, ValueId value, const Target& target) {
  std::vector<ValueId> values = {value};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const NodeId reader : graph.consumers(values[i])) {
      const Node& node = graph.node(reader);
      const auto& ops = target.same_affine_ops;
      if (node.is("Concat") || std::find(ops.begin(), ops.end(), node.op_type) != ops.end()) {
        return true;
      }
      if (traits_of(node).kind != OpKind::kMoving || node.inputs[0] != values[i]) continue;
      for (const ValueId output : node.outputs) {
        if (output != kNoValue) values.push_back(output);
      }
    }
  }
  return false;
}

}  // namespace

bool has_room_for_bias(const Node& node, const WeightPorts& ports, const Target& target) {
  if (target.constants == ConstantForm::kReals) return true;  // the bias is one small FP32 tensor
  const StoredBytes bytes = stored_bytes(node, ports, target, 0);
  return bytes.integer <= bytes.real + bytes.free;
}

std::string refuse_node(const Graph& graph, NodeId id, const Target& target,
                        const ElementTypes& types, const Tail& tail) {
  const Node& node = graph.node(id);
  if (const NodeId root = tail.root(id); root == id) {
    return "the data decides the shape of its result, or qtool does not run the operator";
  } else if (root != kNoNode) {
    return to_text("follows from ", graph.describe(root), ", which qtool does not run");
  }
  if (node.has_subgraphs()) {
    return "only the shapes or the data of a run decide how its subgraphs run; fixed shapes of the "
           "inputs may decide it";
  }
  if (!is_listed(target, node)) {
    return to_text("target '", target.name, "' does not list ",
                   node.domain.empty() ? "" : to_text(node.domain, "."), node.op_type);
  }
  if (target.fixed_result(node.op_type) != nullptr &&
      shares_affine(graph, node.outputs[0], target)) {
    return "the target prescribes the scale of its result, which a Concat or an average shares";
  }
  return refuse_operands(graph, id, target, types);
}

std::string refuse_fixed(const Graph& graph, NodeId id, const IdMap<ValueId, char>& fixed) {
  for (const std::size_t i : activation_inputs(graph, id)) {
    const ValueId input = graph.node(id).inputs[i];
    if (fixed[input] == 0) continue;
    return to_text("'", graph.value(input).name, "' is computed from constants alone");
  }
  return {};
}

}  // namespace qtool
