#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/edit.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

// The passes of prepare(). Each keeps the invariants of Graph::check(), is idempotent, and never
// renames a value that it keeps.
namespace qtool {

/// The opset of every prepared graph. It is the newest opset that ONNX 1.12 knows, and all current
/// runtimes accept it.
inline constexpr std::int64_t kCanonicalOpset = 17;

/// Turns Constant nodes into constants. Constant nodes with strings stay.
void fold_constant_nodes(Graph& graph);

/// Computes the outputs of a node whose inputs are all constants; std::nullopt when it cannot.
using Evaluate = std::function<std::optional<std::vector<Tensor>>(const Graph&, NodeId)>;

/// Replaces nodes that read only constants by their results. QuantizeLinear and DequantizeLinear
/// stay, so that stored integer weights stay integers. Random operators stay, too. Nodes whose
/// results would make the file larger (Expand, Tile) also stay: a result may take at most 256 bytes
/// more than the stored constants that it makes superfluous. Such nodes are folded in memory when a
/// plan is compiled. Cost: linear in the nodes, plus the evaluation of the nodes.
void fold_constants(Graph& graph, const Evaluate& evaluate);

/// Makes float16 and bfloat16 constants, casts and declarations float32: a model stored in half
/// precision computes in single precision, and its half-precision inputs and outputs become
/// float32. The rounding to half precision between operators is not reproduced.
void to_float32(Graph& graph);

/// Removes Identity, Dropout that drops nothing (outside training, or with ratio 0) and Cast to the
/// type a tensor already has. Such a node stays if it lies between a graph input or constant and a
/// graph output.
void remove_identities(Graph& graph);

/// Folds a BatchNormalization into the Conv, ConvTranspose or Gemm before it, if no other node
/// reads the result of that node and all parameters are constants:
/// w' = w gamma / sqrt(var + eps), b' = (b - mean) gamma / sqrt(var + eps) + beta, computed in
/// double precision and rounded once. The producer writes the normalised tensor and keeps its name.
void fold_batch_norm(Graph& graph);

/// Rewrites a graph of an older or newer opset in terms of kCanonicalOpset: all nodes of ONNX's own
/// domain, and the nodes of com.microsoft that microsoft.inc lists. Newer operators and attributes
/// that have no equivalent in that opset stay as they are if qtool runs them (see OpTraits::arity,
/// OpTraits::newer). For all other newer operators and attributes, throws Error(kUnsupported) that
/// names node, operator and opset. For models up to the canonical opset, throws
/// Error(kInvalidModel) for an attribute that the operator does not have in the model's opset.
/// Unknown operators of other domains stay.
void upgrade_opset(Graph& graph);

/// Whether OpTraits::newer lists the attribute, with any value.
bool is_newer_attribute(std::string_view op_type, std::string_view attribute);

/// The oldest opset from kCanonicalOpset on that has all operators and attributes of a graph.
std::int64_t least_opset(const Graph& graph);

/// Rewrites a graph of kCanonicalOpset that holds newer operators or attributes in terms of its
/// least_opset(), so that other tools can read it. upgrade_opset() undoes this. All other graphs
/// stay as they are. So does a graph with an operator of ONNX's own domain that is unknown or that
/// ended before kCanonicalOpset.
void raise_opset(Graph& graph);

}  // namespace qtool
