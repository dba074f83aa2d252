#pragma once

#include <functional>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// Whether the channel means of a layer's input are known and fit its weights.
bool has_means(const Graph& graph, const Layer& layer);

/// How much quantizing the weights of a layer moves the mean of each output channel:
/// sum over the inputs i of (s_c (q[c, i] - z_c) - w[c, i]) E[x_i], padding ignored, with E[x] the
/// channel means of the layer's input. A matrix product may read flattened channels: then each mean
/// belongs to all elements of its channel. Empty without has_means().
/// Cost: one pass over the weights. Source: Nagel et al., arXiv 1906.04721, section 4.2.
std::vector<double> weight_bias_shift(const Graph& graph, const Layer& layer);

/// Whether a node with `ports` has a bias that can be corrected, or can get one.
bool takes_bias(const Node& node, const WeightPorts& ports, const Target& target);

/// What to subtract from the bias of each output channel of a layer; empty: nothing.
using BiasShift = std::function<std::vector<double>(const Layer& layer)>;

/// The stage of bias correction: subtracts `shift` from the layer's bias. A layer without a bias
/// gets one if takes_bias(). Returns whether the bias changed. Adds counts and names to
/// `report`.
bool correct_bias(const Graph& graph, const Target& target, const BiasShift& shift, Layer& layer,
                  QuantizeReport& report);

}  // namespace qtool
