#pragma once

#include <functional>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"
#include "quantize/table_view.h"

namespace qtool {

/// The channel means that the table has for the input of a layer. Empty if they are not known, or
/// if the weights multiply along another axis than that of the means.
std::span<const float> means_for(const Graph& graph, NodeId layer, const TableView& table);

/// Whether the channel means of a layer's input are known and fit its weights.
bool has_means(const Graph& graph, const Layer& layer);

/// How much quantizing the weights of a layer moves the mean of each output channel:
/// sum over the inputs i of (s_c (q[c, i] - z_c) - w[c, i]) E[x_i], with E[x] the
/// channel means of the layer's input. A matrix product may read flattened channels: then each mean
/// belongs to all elements of its channel. For W of a recurrent layer: one value for each row of
/// each direction. Empty if has_means() is false.
/// Cost: one pass over the weights. Source: Nagel et al., arXiv 1906.04721, section 4.2.
/// `shares`: for each tap of a convolution, the share of its positions at which the tap reads input
/// and not padding, see tap_shares(). If it is empty, padding is ignored.
std::vector<double> weight_bias_shift(const Graph& graph, const Layer& layer,
                                      std::span<const double> shares = {});

/// For each tap of a Conv with `ports`: the share of the output positions at which the tap lies
/// inside an input of shape `input`. If the input is as small as the kernel, most taps read
/// padding. Empty for other nodes and for automatic padding.
std::vector<double> tap_shares(const Graph& graph, NodeId node, const WeightPorts& ports,
                               const Shape& input);

/// Whether the bias is a constant with one number for each output channel, or one for all.
bool is_bias_by_channel(const Graph& graph, const WeightPorts& ports);

/// Whether a node with `ports` has a bias that can be corrected, or can get one. The constant that
/// an Add adds to the result of a MatMul counts as the bias of the MatMul, see added_bias(). The
/// bias of a recurrent layer is the bias of W.
bool takes_bias(const Graph& graph, NodeId node, const WeightPorts& ports, const Target& target);

/// Computes the value to subtract from the bias of each output channel of a layer. An empty result:
/// nothing to subtract.
using BiasShift = std::function<std::vector<double>(const Layer& layer)>;

/// The function that calls weight_bias_shift() for a layer. It uses the tap_shares() for the image
/// size of the table's preprocessing. If shapes cannot be inferred, it ignores padding.
BiasShift table_bias_shift(const Graph& graph, const CalibrationTable& table);

/// The stage of bias correction: subtracts the result of `shift` from the layer's bias. A layer
/// without a bias gets one if takes_bias() is true. For a MatMul, Layer::bias then holds the values
/// that the Add after it must add in addition. Returns whether the bias changed. Adds counts and
/// names to `report`.
bool correct_bias(const Graph& graph, const Target& target, const BiasShift& shift, Layer& layer,
                  QuantizeReport& report);

}  // namespace qtool
