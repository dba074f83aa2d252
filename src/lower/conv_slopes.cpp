// A QConv with a real result, a LeakyRelu or PRelu behind it and the QuantizeLinear of its result
// become one QConv with other multipliers for sums below 0. It may also take in a Mul by one factor
// per channel, which equalization writes, the Add of a shortcut, and a Relu or Clip before the
// rounding.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "graph/clamp.h"
#include "graph/edit.h"
#include "kernels/conv/conv.h"
#include "lower/channel_mul.h"
#include "lower/passes.h"
#include "lower/qdq_clusters.h"
#include "lower/real_product.h"

namespace qtool {
namespace {

/// A tensor of bytes that is added to the result of the function.
struct Shortcut {
  ValueId bytes = kNoValue;
  Affine affine;
};

class SlopeFusion {
 public:
  explicit SlopeFusion(ShapedGraph& shaped) : shaped_(shaped), graph_(shaped.graph) {}

  void run() {
    const std::vector<NodeId> order = graph_.nodes();
    for (const NodeId id : order) {
      if (!is_gone(graph_, id) && graph_.node(id).op_type == "Quantize") fuse(id);
    }
    if (!fused_) return;
    graph_.remove_dead_nodes();
    graph_.sort();  // a shortcut may be computed after the convolution that now adds it
  }

 private:
  // Whether two tensors have one shape. A tensor that lowering added may have none yet.
  [[nodiscard]] bool same_shape(ValueId a, ValueId b) const {
    return shaped_.infos[a] && shaped_.infos[b] && shaped_.info(a).shape == shaped_.info(b).shape;
  }

  // The slopes below 0 of a LeakyRelu or PRelu, one for each channel. Empty if they vary otherwise.
  [[nodiscard]] std::vector<float> slopes_of(const Node& node, std::int64_t channels) const {
    const auto count = static_cast<std::size_t>(channels);
    if (node.is("LeakyRelu")) return std::vector<float>(count, node.get_float("alpha", 0.01F));
    if (!graph_.is_constant(node.inputs[1])) return {};
    const Tensor& constant = *graph_.value(node.inputs[1]).constant;
    if (constant.dtype() != DType::kFloat32) return {};
    if (constant.elements() == 1) return std::vector<float>(count, constant.values<float>()[0]);
    if (!lies_along_channels(graph_, node.inputs[1], channels)) return {};
    const auto values = constant.values<float>();
    return {values.begin(), values.end()};
  }

  // The operand of an Add that is a tensor of bytes; the other operand is `sum`.
  [[nodiscard]] std::optional<Shortcut> shortcut_of(const Node& add, std::size_t operand) const {
    const ValueId real = add.inputs[operand];
    const NodeId producer = graph_.value(real).producer;
    if (producer == kNoNode || graph_.node(producer).op_type != "Dequantize") return std::nullopt;
    const auto* edge = std::get_if<EdgeParams>(&shaped_.lowered(producer).params);
    const ValueId bytes = graph_.node(producer).inputs[0];
    if (edge == nullptr || !shaped_.infos[bytes]) return std::nullopt;
    if (shaped_.info(bytes).dtype != DType::kUInt8) return std::nullopt;
    return Shortcut{bytes, edge->affine};
  }

  void fuse(NodeId rounding) {
    const auto* edge = std::get_if<EdgeParams>(&shaped_.lowered(rounding).params);
    if (edge == nullptr || graph_.node(rounding).has_input(1)) return;
    QuantizedResult result{edge->affine};
    ValueId x = graph_.node(rounding).inputs[0];
    std::vector<NodeId> behind{rounding};
    const NodeId last = producer_for(graph_, x, rounding);
    const std::optional<Range> clamp =
        last == kNoNode ? std::nullopt : clamp_of(graph_, graph_.node(last));
    if (clamp && clamp->min <= clamp->max) {
      result.low = quantized_bound(clamp->min, result.affine);
      result.high = quantized_bound(clamp->max, result.affine);
      x = graph_.node(last).inputs[0];
      behind.push_back(last);
    }
    if (fuse_behind(x, behind, result, std::nullopt)) return;
    const NodeId add = producer_for(graph_, x, behind.back());
    if (add == kNoNode || !graph_.node(add).is("Add")) return;
    behind.push_back(add);
    for (const std::size_t i : {0U, 1U}) {
      const ValueId sum = graph_.node(add).inputs[i];
      if (!same_shape(sum, x)) continue;
      const std::optional<Shortcut> shortcut = shortcut_of(graph_.node(add), 1 - i);
      if (shortcut && fuse_behind(sum, behind, result, shortcut)) return;
    }
  }

  // Makes one operator of what computes the real tensor `x` and of the nodes `behind`. The first of
  // these rounds, and the last one alone reads `x`.
  bool fuse_behind(ValueId x, std::vector<NodeId> behind, const QuantizedResult& result,
                   const std::optional<Shortcut>& shortcut) {
    const std::optional<ChannelMul> mul = channel_mul(shaped_, x, behind.back());
    if (mul) {
      behind.push_back(mul->node);
      x = mul->x;
    }
    const NodeId function = producer_for(graph_, x, behind.back());
    if (function == kNoNode) return false;
    const Node& node = graph_.node(function);
    if (!node.is("LeakyRelu") && !node.is("PRelu")) return false;
    behind.push_back(function);
    const std::optional<NodeId> product = real_product(shaped_, node.inputs[0], {function});
    if (!product || !same_shape(node.inputs[0], x)) return false;
    const std::int64_t channels = channels_with_slopes(*product);
    if (channels == 0) return false;
    Slopes slopes{std::vector<float>(static_cast<std::size_t>(channels), 1.0F),
                  slopes_of(node, channels)};
    if (slopes.negative.empty()) return false;
    if (mul) {
      const auto factors = graph_.value(mul->factors).constant->values<float>();
      slopes.positive.assign(factors.begin(), factors.end());
    }
    for (std::size_t c = 0; c < slopes.negative.size(); ++c) {
      slopes.negative[c] *= slopes.positive[c];
    }
    auto params = std::get<QProductParams>(shaped_.lowered(*product).params);
    params.result = result;
    params.slopes = std::move(slopes);
    if (shortcut) params.residual = shortcut->affine;
    if (!has_finite_multipliers(params)) return false;
    replace(*product, behind, std::move(params), shortcut);
    return true;
  }

  // The channels of a convolution of images that takes slopes, otherwise 0. Kernels for depthwise
  // convolutions have no such multipliers; a curve serves them.
  [[nodiscard]] std::int64_t channels_with_slopes(NodeId product) const {
    const Node& node = graph_.node(product);
    if (node.op_type != "QConv" || node.has_input(3)) return 0;
    const auto& weights = graph_.value(node.inputs[1]).constant;
    if (weights == nullptr || weights->shape().rank() != 4) return 0;
    const std::int64_t groups = node.get_int("group", 1);
    const std::int64_t channels = weights->shape()[0];
    return groups == 1 || groups != channels ? channels : 0;
  }

  static bool has_finite_multipliers(const QProductParams& params) {
    const float y = params.result->affine.scale;
    if (params.residual && !(params.residual->scale / y <= kMaxResidualMultiplier)) return false;
    const auto scales = params.weight_scales->values<float>();
    for (std::size_t c = 0; c < params.slopes->positive.size(); ++c) {
      const float multiplier = params.input.scale * scales[scales.size() == 1 ? 0 : c] / y;
      if (!are_finite(
              {multiplier * params.slopes->positive[c], multiplier * params.slopes->negative[c]})) {
        return false;
      }
    }
    return true;
  }

  void replace(NodeId product, const std::vector<NodeId>& behind, QProductParams params,
               const std::optional<Shortcut>& shortcut) {
    const ValueId output = graph_.node(behind[0]).outputs[0];
    for (const NodeId id : behind) disconnect(graph_, id);
    shaped_.lower_node(product, "QConv", std::move(params));
    graph_.set_output(product, 0, output);
    if (shortcut) graph_.set_input(product, 3, shortcut->bytes);
    fused_ = true;
  }

  ShapedGraph& shaped_;
  Graph& graph_;
  bool fused_ = false;
};

}  // namespace

void fuse_conv_slopes(ShapedGraph& shaped) { SlopeFusion(shaped).run(); }

}  // namespace qtool
