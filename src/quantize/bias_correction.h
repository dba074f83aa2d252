#pragma once

#include <functional>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"
#include "quantize/table_view.h"

namespace qtool {

/// The table's means per channel of what a layer multiplies with its weights; empty when they are
/// not known, or are those of another axis.
std::span<const float> means_for(const Graph& graph, NodeId layer, const TableView& table);

/// Whether the channel means of a layer's input are known and fit its weights.
bool has_means(const Graph& graph, const Layer& layer);

/// How much quantizing the weights of a layer moves the mean of each output channel:
/// sum over the inputs i of (s_c (q[c, i] - z_c) - w[c, i]) E[x_i], with E[x] the
/// channel means of the layer's input. A matrix product may read flattened channels: then each mean
/// belongs to all elements of its channel. Of the W of a recurrent layer: for each row of each
/// direction. Empty without has_means().
/// Cost: one pass over the weights. Source: Nagel et al., arXiv 1906.04721, section 4.2.
/// `shares`: of the positions of a convolution, those at which each tap reads its input and not
/// padding, see tap_shares(); empty: all.
std::vector<double> weight_bias_shift(const Graph& graph, const Layer& layer,
                                      std::span<const double> shares = {});

/// By tap of a Conv with `ports`, the share of its output positions at which the tap lies inside an
/// input of shape `input`: where maps are as small as the kernel, most of it reads padding. Empty
/// for other nodes and for automatic padding.
std::vector<double> tap_shares(const Graph& graph, NodeId node, const WeightPorts& ports,
                               const Shape& input);

/// Whether the bias is a constant with one number for each output channel, or one for all.
bool is_bias_by_channel(const Graph& graph, const WeightPorts& ports);

/// Whether a node with `ports` has a bias that can be corrected, or can get one. The constant that
/// is added behind a MatMul counts as its bias, see added_bias(); of a recurrent layer that of W.
bool takes_bias(const Graph& graph, NodeId node, const WeightPorts& ports, const Target& target);

/// What to subtract from the bias of each output channel of a layer; empty: nothing.
using BiasShift = std::function<std::vector<double>(const Layer& layer)>;

/// weight_bias_shift() of each layer, with the tap_shares() of the sizes that the table's
/// preprocessing makes, where shapes can be inferred.
BiasShift table_bias_shift(const Graph& graph, const CalibrationTable& table);

/// The stage of bias correction: subtracts `shift` from the layer's bias. A layer without a bias
/// gets one if takes_bias(); that of a MatMul is what the Add behind it is to add in addition.
/// Returns whether the bias changed. Adds counts and names to `report`.
bool correct_bias(const Graph& graph, const Target& target, const BiasShift& shift, Layer& layer,
                  QuantizeReport& report);

}  // namespace qtool
