// QConv (two for both bytes of a tensor that keeps 16 bits), the element-wise functions behind it
// and the QuantizeLinear of their result become one QConvChain. It computes some rows at a time, so
// the real numbers between these nodes never leave the cache. If a curve can approximate the
// functions, it goes into the epilogue of the QConv instead, which costs little more than rounding.
// Its bytes are those of the chain, but for 0.04 of a step. Equalization writes a Mul by one factor
// per channel between the functions and the rounding. It becomes part of either operator, and it
// multiplies the error of a curve. In a QConvChain, a wide curve takes the place of the functions
// where it can; it differs by less than one step of a second byte.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/edit.h"
#include "kernels/curve.h"
#include "lower/chains.h"
#include "lower/channel_mul.h"
#include "lower/passes.h"
#include "lower/real_product.h"
#include "ops/chain.h"
#include "ops/integer/fit_curve.h"
#include "ops/integer/fit_wide_curve.h"

namespace qtool {
namespace {

/// The factors of channels on a curve, relative to the smallest one.
struct RelativeFactors {
  float smallest = 1.0F;
  std::vector<CurveFactor> factors;
};

// Nothing if curves cannot have these factors. One below 0 would turn the function over, so the
// bytes of its channel would need other values of the function than those of the other channels.
std::optional<FactorRange> factor_range(std::span<const float> values) {
  FactorRange range{std::numeric_limits<float>::infinity(), 0.0F};
  for (const float value : values) {
    if (!std::isnormal(value) || value < 0.0F) return std::nullopt;
    range = {std::min(range.smallest, value), std::max(range.largest, value)};
  }
  return range;
}

// Likewise for the curve in an epilogue, whose factors do not lie far apart.
std::optional<RelativeFactors> relative_factors(std::span<const float> values) {
  const std::optional<FactorRange> range = factor_range(values);
  if (!range) return std::nullopt;
  RelativeFactors relative{range->smallest, {}};
  for (const float value : values) {
    int shift = 0;
    double fraction =
        std::frexp(static_cast<double>(value) / static_cast<double>(range->smallest), &shift);
    if (fraction == 0.5) {  // a power of two: the fraction may be 1
      fraction = 1.0;
      --shift;
    }
    if (shift > CurveFactor::kMostShift) return std::nullopt;
    relative.factors.push_back(
        {static_cast<std::int16_t>(shift),
         static_cast<std::int16_t>(std::nearbyint(fraction * CurveFactor::kOne))});
  }
  return relative;
}

// The function of a chain of one input.
RealFunction function_of(const Chain& chain) {
  return [&chain](std::span<const float> in, std::span<float> out) {
    const float* const inputs[] = {in.data()};
    chain.run(inputs, out.data(), std::ssize(in));
  };
}

class ConvChainFusion {
 public:
  explicit ConvChainFusion(ShapedGraph& shaped)
      : shaped_(shaped), graph_(shaped.graph), finder_(shaped) {}

  void run() {
    const std::vector<NodeId> order = graph_.nodes();
    for (const NodeId id : order) {
      if (is_gone(graph_, id)) continue;
      const std::string& op_type = graph_.node(id).op_type;
      if (op_type == "Quantize" || op_type == "QuantizeWide") fuse(id);
    }
    if (!fused_) return;
    graph_.remove_dead_nodes();
    graph_.sort();
  }

 private:
  /// What is computed between convolutions and a rounding.
  struct Parts {
    std::vector<NodeId> products;
    std::optional<FoundChain> chain;  ///< its first input is the result of the last product
    std::optional<ChannelMul> mul;    ///< behind both
  };

  // The QConv of images that makes the real tensor `id`, if only the nodes `readers` read it.
  [[nodiscard]] std::optional<NodeId> real_convolution(ValueId id,
                                                       const std::vector<NodeId>& readers) const {
    const std::optional<NodeId> product = real_product(shaped_, id, readers);
    if (!product || graph_.node(*product).op_type != "QConv") return std::nullopt;
    return shaped_.info(id).shape.rank() == 4 ? product : std::nullopt;
  }

  // Whether two convolutions differ only in their images, weights and parameters.
  [[nodiscard]] bool same_window(const Node& a, const Node& b) const {
    for (const std::string_view name : {"strides", "pads", "dilations"}) {
      if (a.get_ints(name, {}) != b.get_ints(name, {})) return false;
    }
    const auto shape = [&](const Node& node, std::size_t input) {
      return shaped_.info(node.inputs[input]).shape;
    };
    return a.get_int("group", 1) == b.get_int("group", 1) &&
           a.get_string("auto_pad", "") == b.get_string("auto_pad", "") &&
           shape(a, 0) == shape(b, 0) && shape(a, 1) == shape(b, 1);
  }

  // `last` and the product from whose result it starts. Empty when that is not a product.
  [[nodiscard]] std::vector<NodeId> products_before(NodeId last) const {
    const Node& node = graph_.node(last);
    if (!node.has_input(3)) return {last};
    const std::optional<NodeId> first = real_convolution(node.inputs[3], {last});
    if (!first || graph_.node(*first).has_input(3)) return {};
    if (!same_window(graph_.node(*first), node)) return {};
    return {*first, last};
  }

  // Reads the chain so that the result of a product is its first input.
  [[nodiscard]] std::optional<Parts> parts_before(ValueId x, NodeId rounding) const {
    if (const std::optional<ChannelMul> mul = channel_mul(shaped_, x, rounding)) {
      if (graph_.node(rounding).has_input(1)) return std::nullopt;
      std::optional<Parts> parts = parts_before_functions(mul->x, mul->node);
      if (parts) parts->mul = mul;
      return parts;
    }
    return parts_before_functions(x, rounding);
  }

  // `reader`: the only node that reads `x`.
  [[nodiscard]] std::optional<Parts> parts_before_functions(ValueId x, NodeId reader) const {
    if (const std::optional<NodeId> product = real_convolution(x, {reader})) {
      return Parts{products_before(*product), {}, {}};
    }
    const NodeId last = producer_for(graph_, x, reader);
    if (last == kNoNode) return std::nullopt;
    std::optional<FoundChain> chain = finder_.chain_before(last);
    if (!chain) return std::nullopt;
    for (std::size_t i = 0; i < chain->inputs.size(); ++i) {
      const std::optional<NodeId> product = real_convolution(chain->inputs[i], chain->nodes);
      if (!product) continue;
      swap_inputs(*chain, i);
      return Parts{products_before(*product), std::move(chain), {}};
    }
    return std::nullopt;
  }

  // Exchanges the first input of a chain and the input `other`.
  static void swap_inputs(FoundChain& chain, std::size_t other) {
    std::swap(chain.inputs[0], chain.inputs[other]);
    for (ChainStep& step : chain.params.steps) {
      for (ChainOperand* operand : {&step.a, &step.b}) {
        if (operand->source != ChainOperand::Source::kInput) continue;
        if (operand->index == 0 || operand->index == other) operand->index ^= other;
      }
    }
  }

  // The parameters of the only product of `parts`, with a curve for the chain and the rounding.
  // Nothing if there is no such curve.
  [[nodiscard]] std::optional<QProductParams> with_curve(const Parts& parts,
                                                         NodeId rounding) const {
    const auto* edge = std::get_if<EdgeParams>(&shaped_.lowered(rounding).params);
    if (edge == nullptr || graph_.node(rounding).has_input(1)) return std::nullopt;
    if (!parts.chain || parts.chain->inputs.size() != 1 || parts.products.size() != 1) {
      return std::nullopt;
    }
    RelativeFactors relative;
    if (parts.mul) {
      const Tensor& factors = *graph_.value(parts.mul->factors).constant;
      const std::optional<RelativeFactors> found = relative_factors(factors.values<float>());
      if (!found) return std::nullopt;
      relative = *found;
    }
    const Chain chain(parts.chain->params);
    const RealFunction function = [&](std::span<const float> in, std::span<float> out) {
      function_of(chain)(in, out);
      for (float& value : out) value *= relative.smallest;
    };
    std::optional<Curve> curve = fit_curve(function, edge->affine);
    if (!curve) return std::nullopt;
    auto params = std::get<QProductParams>(shaped_.lowered(parts.products[0]).params);
    for (const float scale : params.weight_scales->values<float>()) {
      if (!std::isfinite(params.input.scale * scale * curve->scale)) return std::nullopt;
    }
    params.result = QuantizedResult{edge->affine};
    params.curve = *curve;
    params.factors = std::move(relative.factors);
    return params;
  }

  // The wide curve for the chain and the rounding. Nothing if there is no such curve.
  [[nodiscard]] std::optional<WideCurve> wide_curve(const Parts& parts, NodeId rounding) const {
    if (!parts.chain || parts.chain->inputs.size() != 1) return std::nullopt;
    const LoweredParams& how = shaped_.lowered(rounding).params;
    const auto* edge = std::get_if<EdgeParams>(&how);
    const auto* wide = std::get_if<WideEdgeParams>(&how);
    const Affine& high = wide == nullptr ? edge->affine : wide->high;
    const float step = high.scale / static_cast<float>(WideCurve::kSteps);
    if (wide != nullptr && wide->low != Affine{step, 128}) return std::nullopt;
    std::optional<FactorRange> range = FactorRange();
    const Node& node = graph_.node(rounding);
    if (parts.mul || node.has_input(1)) {
      const ValueId id = parts.mul ? parts.mul->factors : node.inputs[1];
      range = factor_range(graph_.value(id).constant->values<float>());
      if (!range) return std::nullopt;
    }
    const Chain chain(parts.chain->params);
    return fit_wide_curve(function_of(chain), high, *range);
  }

  // Makes the first product an operator that writes the results of the rounding, and takes out the
  // other nodes.
  void replace(const Parts& parts, NodeId rounding, std::string_view op_type,
               LoweredParams params) {
    const std::vector<ValueId> outputs = graph_.node(rounding).outputs;
    const NodeId first = parts.products.front();
    for (const NodeId id : parts.products) {
      if (id != first) disconnect(graph_, id);
    }
    if (parts.chain) {
      for (const NodeId id : parts.chain->nodes) disconnect(graph_, id);
    }
    if (parts.mul) disconnect(graph_, parts.mul->node);
    disconnect(graph_, rounding);
    shaped_.lower_node(first, op_type, std::move(params));
    for (std::size_t i = 0; i < outputs.size(); ++i) graph_.set_output(first, i, outputs[i]);
    fused_ = true;
  }

  void fuse(NodeId rounding) {
    const Node& node = graph_.node(rounding);
    const std::optional<Parts> parts = parts_before(node.inputs[0], rounding);
    if (!parts || parts->products.empty()) return;
    if (std::optional<QProductParams> params = with_curve(*parts, rounding)) {
      return replace(*parts, rounding, "QConv", *std::move(params));
    }
    ConvChainParams params;
    std::vector<ValueId> inputs;
    for (const NodeId product : parts->products) {
      params.products.push_back(std::get<QProductParams>(shaped_.lowered(product).params));
      const Node& conv = graph_.node(product);
      inputs.insert(inputs.end(), {conv.inputs[0], conv.inputs[1],
                                   conv.has_input(2) ? conv.inputs[2] : kNoValue});
    }
    inputs.push_back(parts->mul          ? parts->mul->factors
                     : node.has_input(1) ? node.inputs[1]
                                         : kNoValue);
    if (parts->chain) {
      params.chain = parts->chain->params;
      inputs.insert(inputs.end(), parts->chain->inputs.begin() + 1, parts->chain->inputs.end());
    }
    if (params.curve = wide_curve(*parts, rounding); params.curve) params.chain.reset();
    const LoweredParams& how = shaped_.lowered(rounding).params;
    if (const auto* wide = std::get_if<WideEdgeParams>(&how)) {
      params.rounding = *wide;
    } else {
      params.rounding = std::get<EdgeParams>(how);
    }
    const NodeId first = parts->products.front();
    replace(*parts, rounding, "QConvChain", std::move(params));
    for (std::size_t i = 0; i < inputs.size(); ++i) graph_.set_input(first, i, inputs[i]);
    graph_.truncate_inputs(first, inputs.size());
  }

  ShapedGraph& shaped_;
  Graph& graph_;
  ChainFinder finder_;
  bool fused_ = false;
};

}  // namespace

void fuse_conv_chains(ShapedGraph& shaped) { ConvChainFusion(shaped).run(); }

}  // namespace qtool
