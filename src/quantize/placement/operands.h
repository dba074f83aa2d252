#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/id_map.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"

namespace qtool {

/// Throws Error(kUnsupported) when the graph is below opset 13 or quantized already.
void require_float_graph(const Graph& graph);

/// Whether no value is NaN or an infinity.
bool all_finite(std::span<const float> values) noexcept;

/// Names of the weights and biases with a NaN or an infinity, each once.
std::vector<std::string> non_finite_weights(const Graph& graph);

/// Whether a node is a product (a convolution, a matrix product, a recurrent layer). Also true for
/// operators of other domains than ONNX's, which may be products.
bool multiplies(const Node& node);

/// The indices of the inputs of a node that are activations, or constants in the place of an
/// activation (in an Add, for example). Weights, biases, shapes, indices and bounds are not among
/// them.
std::vector<std::size_t> activation_inputs(const Graph& graph, NodeId id);

/// 1 for each value that is computed from constants alone, otherwise 0.
IdMap<ValueId, char> values_from_constants(const Graph& graph);

/// Whether the target runs the operator of a node on integers.
bool is_listed(const Target& target, const Node& node);

}  // namespace qtool
