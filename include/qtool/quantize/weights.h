#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// How a Conv, Gemm or MatMul reads its constant weights.
struct WeightPorts {
  ValueId weight = kNoValue;
  ValueId bias = kNoValue;
  std::int64_t axis = 0;  ///< of the output channels in the weight
  std::int64_t channels = 0;
  std::int64_t depth = 0;      ///< products added up for one output
  float weight_factor = 1.0F;  ///< Gemm's alpha
  float bias_factor = 1.0F;    ///< Gemm's beta
};

/// The ports of a node whose second input is a constant matrix or filter; nothing otherwise.
std::optional<WeightPorts> weight_ports(const Graph& graph, NodeId id);

/// The weights as the layer multiplies them (alpha included), float32.
Tensor real_weights(const Graph& graph, const WeightPorts& ports);
/// One bias per output channel (beta included, broadcast), zeros when the node has none.
std::vector<float> real_bias(const Graph& graph, const WeightPorts& ports);

/// Scales of symmetric weights by largest magnitude, one per index of `axis` or one for all.
/// s_c = max(max|w_c| / qmax, |b_c| / (s_x 2^30)): the second term keeps the int32 bias, whose
/// scale is s_x s_c, within half its type (less when a sum of very many products needs the room). A
/// channel of zeros without bias gets 1, and so does one
/// whose s_x s_c would not be a normal float.
/// `bias`: one per channel, or empty; `input_scale`: s_x. Throws Error(kInvalidArgument) for
/// weights or biases that are not finite. Cost: one pass. Source: Krishnamoorthi, arXiv 1806.08342,
/// section 3. Differs from source: the bias term, because channels with weights near zero and an
/// ordinary bias occur in published networks.
std::vector<float> absmax_scales(const Tensor& weights, std::int64_t axis, const Scheme& scheme,
                                 Granularity granularity, std::span<const float> bias,
                                 float input_scale);

/// Given scales, one per bias or one for all, each raised until its bias fits as above.
std::vector<float> fit_scales(std::vector<float> scales, std::span<const float> bias,
                              float input_scale, std::int64_t depth);

/// q = clamp(round_half_even(w / s_c)) for the channel c of each weight, int8 in the weights'
/// shape. One scale serves all channels.
Tensor quantize_weights(const Tensor& weights, std::int64_t axis, const Scheme& scheme,
                        std::span<const float> scales);

/// The scale of each int32 bias: the float32 product s_x s_c.
std::vector<float> bias_scales(std::span<const float> weight_scales, std::size_t channels,
                               float input_scale);
/// q = round_half_even(b_c / scale_c) as int32, clamped to +-2^30.
Tensor quantize_bias(std::span<const float> bias, std::span<const float> scales);

}  // namespace qtool
