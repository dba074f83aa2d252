#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// The same for a node whose second input, of this shape, is made from a constant, as that of an
/// INT8 model is by a DequantizeLinear. The node must have two inputs.
std::optional<WeightPorts> weight_ports(const Node& node, const Shape& shape);

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

}  // namespace qtool
