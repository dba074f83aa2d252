#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// How a Conv, ConvTranspose, Gemm or MatMul reads its constant weights, or how a recurrent layer
/// reads one of its two weights.
struct WeightPorts {
  std::size_t input = 1;  ///< the input of the node that is the weight
  ValueId weight = kNoValue;
  ValueId bias = kNoValue;
  std::int64_t axis = 0;       ///< of the output channels in the weight
  std::int64_t channels = 0;   ///< output channels; in a ConvTranspose those of one group
  std::int64_t depth = 0;      ///< products added up for one output
  float weight_factor = 1.0F;  ///< Gemm's alpha
  float bias_factor = 1.0F;    ///< Gemm's beta
};

/// The ports of a node whose second input is a constant matrix or filter. Nothing for other nodes,
/// and if the number of groups of a convolution does not divide the first axis of its weights.
std::optional<WeightPorts> weight_ports(const Graph& graph, NodeId id);

/// The constant weights of a node that can be stored as integers: those of weight_ports(), or W and
/// R of an LSTM, GRU or RNN. The channels of W and R are the rows of the gates, on axis 1. Both
/// directions share the scales of these rows, because ONNX has scales along one axis only. Empty if
/// one of the weights is not a constant.
std::vector<WeightPorts> stored_weight_ports(const Graph& graph, NodeId id);

/// Whether a node is an LSTM, GRU or RNN.
bool is_recurrent(const Graph& graph, NodeId id);

/// The weights as the layer multiplies them (alpha included), float32.
Tensor real_weights(const Graph& graph, const WeightPorts& ports);
/// One bias per output channel (beta included, broadcast), zeros when the node has none.
std::vector<float> real_bias(const Graph& graph, const WeightPorts& ports);

/// Whether `node` is a 3x3 convolution with stride 1, dilation 1 and no groups.
bool suits_winograd(const Graph& graph, NodeId node);

/// The scheme for the weights of `node`: the target's scheme, with Target::winograd_bits if
/// suits_winograd() is true.
Scheme weight_scheme(const Graph& graph, NodeId node, const Target& target);

/// Chooses scales and zero points by the weight method `method`, one per index of `axis` or one for
/// all. The scales leave room for the biases:
///   s_c = max(method, |b_c| / (s_x 2^30))
/// The second term keeps the int32 bias, which has the scale s_x s_c, within half the range of
/// int32 (less if a sum of very many products needs the room). A channel of zeros without a bias
/// gets the scale 1, and so does a channel whose s_x s_c would not be a normal float.
/// `bias`: one per channel, or empty; `input_scale`: s_x. `threads`: 0 = all available; the result
/// does not depend on it. Throws Error(kInvalidArgument) for weights or biases that are not finite,
/// Error(kUsage) for an unknown method. Cost: the method's. Source: Krishnamoorthi, arXiv
/// 1806.08342, section 3. Differs from source: the bias term is added, because channels with
/// weights near zero and an ordinary bias occur in published networks.
Affines choose_weight_affines(const Tensor& weights, std::int64_t axis, std::string_view method,
                              const Scheme& scheme, Granularity granularity,
                              std::span<const float> bias, float input_scale, int threads = 0);

/// Returns the given scales, one per bias or one for all, each raised until its bias fits as in
/// choose_weight_affines(). `magnitude`: the largest |q_w - z_w|.
std::vector<float> fit_scales(std::vector<float> scales, std::span<const float> bias,
                              float input_scale, std::int64_t depth, std::int32_t magnitude = 127);
/// The largest |q - z| of a scheme for weights.
std::int32_t largest_magnitude(const Scheme& scheme);

/// q = clamp(round_half_even(w / s_c) + z_c) for the channel c of each weight, int8 in the weights'
/// shape. A single scale is used for all channels. Throws Error(kInvalidArgument) when there is
/// neither one scale nor one per channel, or when there are zero points but not one per scale.
Tensor quantize_weights(const Tensor& weights, const Scheme& scheme, const Affines& affines);

/// The reals s_c (q - z_c) of the integers of quantize_weights(). They round to the same integers
/// again.
Tensor dequantize_weights(const Tensor& integers, const Affines& affines);

/// The scale of each int32 bias: the float32 product s_x s_c.
std::vector<float> bias_scales(std::span<const float> weight_scales, std::size_t channels,
                               float input_scale);
/// q = round_half_even(b_c / scale_c) as int32, clamped to +-2^30.
Tensor quantize_bias(std::span<const float> bias, std::span<const float> scales);

}  // namespace qtool
