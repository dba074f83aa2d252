#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/weights.h"

namespace qtool {

/// How much quantizing the weights of a layer moves the mean of each output channel:
/// sum over the inputs i of (s_c (q[c, i] - z_c) - w[c, i]) E[x_i], padding ignored.
/// `real`, `integers`: the weights before and after, in the node's layout, by `maps`; `means`: E[x]
/// per input channel, FP32. A matrix product whose inputs are flattened channels reads each mean as
/// often as a channel has elements. Empty when the number of means fits neither way. Cost: one pass
/// over the weights. Source: Nagel et al., arXiv 1906.04721, section 4.2.
std::vector<double> weight_bias_shift(const Graph& graph, NodeId node, const WeightPorts& ports,
                                      const Tensor& real, const Tensor& integers,
                                      const WeightMaps& maps, std::span<const float> means);

}  // namespace qtool
