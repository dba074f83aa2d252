#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/tail.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/weights/weights.h"

namespace qtool {

/// Throws Error(kUnsupported) when the graph is below opset 13 or quantized already.
void require_float_graph(const Graph& graph);

/// Whether no value is NaN or an infinity.
bool all_finite(std::span<const float> values) noexcept;

/// Names of the weights and biases with a NaN or an infinity, each once.
std::vector<std::string> non_finite_weights(const Graph& graph);

/// Whether a node is a product (a convolution, a matrix product, a recurrent layer). Also true for
/// operators of other domains than ONNX's, which may be one.
bool multiplies(const Node& node);

/// The indices of the inputs of a node that are activations, or constants in the place of one (of
/// an Add, for example). Weights, biases, shapes, indices and bounds are not among them.
std::vector<std::size_t> activation_inputs(const Graph& graph, NodeId id);

/// By ValueId: 1 for what is computed from constants alone.
std::vector<char> values_from_constants(const Graph& graph);

/// Whether the target runs the operator of a node on integers.
bool is_listed(const Target& target, const Node& node);

/// Why a node cannot run on integers, with whatever ranges: its operator, its operands, or what it
/// follows from. A phrase; empty when nothing is in the way. `types`: the result of
/// element_types().
std::string refuse_node(const Graph& graph, NodeId id, const Target& target,
                        std::span<const std::optional<DType>> types, const Tail& tail);

/// Whether a layer without a bias can get one (int32, with a scale per channel) without making the
/// model larger: its integers and scales may take 400 bytes per tensor more than FP32 weights.
bool has_room_for_bias(const Node& node, const WeightPorts& ports, const Target& target);

/// Why a node that reads a value computed from constants alone cannot run on integers. (Constant
/// folding leaves such values in the graph where the result would exceed the inputs.) A plan
/// computes it once when it is compiled, so calibration does not observe its range. `fixed`: the
/// result of values_from_constants().
std::string refuse_fixed(const Graph& graph, NodeId id, std::span<const char> fixed);

/// Whether an activation can run inside the producer of its input: a Relu, or a Clip with constant
/// bounds, the lower one 0. On the integers both do nothing but saturate.
bool saturates_at_zero(const Graph& graph, NodeId activation);

}  // namespace qtool
