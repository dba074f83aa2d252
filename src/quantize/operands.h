#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/weights.h"

namespace qtool {

/// Throws Error(kUnsupported) when the graph is below opset 13 or quantized already.
void require_float_graph(const Graph& graph);

/// Whether no value is NaN or an infinity.
bool all_finite(std::span<const float> values) noexcept;

/// Names of the weights and biases with a NaN or an infinity, each once.
std::vector<std::string> non_finite_weights(const Graph& graph);

/// Whether a node adds products up, or may: of operators of other domains nothing is known.
bool multiplies(const Node& node);

/// The inputs of a node that carry quantizable reals, constants of combining nodes included;
/// weights, biases, shapes, indices and bounds are not among them.
std::vector<std::size_t> activation_inputs(const Graph& graph, NodeId id);

/// Why the operands of a node that the target lists keep it from running on integers, as a phrase;
/// empty when they do not. `types` as element_types() makes them.
std::string refuse_operands(const Graph& graph, NodeId id, const Target& target,
                            std::span<const std::optional<DType>> types);

/// Whether a layer that has no bias can be given one, int32 with a scale per channel, and take no
/// more bytes than in FP32 beyond the 400 that each of its tensors may.
bool has_room_for_bias(const Node& node, const WeightPorts& ports, const Target& target);

/// Whether an activation can run inside the producer of its input: a Relu, or a Clip from 0 on with
/// constant bounds, whose effect on the integers is saturation alone.
bool saturates_at_zero(const Graph& graph, NodeId activation);

}  // namespace qtool
