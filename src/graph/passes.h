#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/edit.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

// The passes of prepare(). Each keeps the invariants of Graph::check(), is idempotent, and never
// renames a value that survives it.
namespace qtool {

/// The opset every prepared graph has: the newest that ONNX 1.12 knows, which current runtimes
/// all accept.
inline constexpr std::int64_t kCanonicalOpset = 17;

/// Turns Constant nodes into constants. Those with strings stay.
void fold_constant_nodes(Graph& graph);

/// Computes a node all of whose inputs are constants; nothing when it cannot.
using Evaluate = std::function<std::optional<std::vector<Tensor>>(const Graph&, NodeId)>;

/// Replaces nodes that read only constants by what they compute. QuantizeLinear and
/// DequantizeLinear stay, so that stored integer weights stay integers; random operators stay.
/// Nodes whose result would make the file larger (Expand, Tile) stay too and are folded in memory
/// when a plan is compiled: a result may take at most 256 bytes more than the stored constants that
/// it makes superfluous. Cost: linear in the nodes, and what evaluating them takes.
void fold_constants(Graph& graph, const Evaluate& evaluate);

/// Makes float16 and bfloat16 constants, casts and declarations float32: a model stored in half
/// precision computes in single precision, and its half-precision inputs and outputs become
/// float32. The rounding to half precision between operators is not reproduced.
void to_float32(Graph& graph);

/// Removes Identity, Dropout that drops nothing (outside training, or with ratio 0) and Cast to the
/// type a tensor already has. One between a graph input or constant and a graph output stays.
void remove_identities(Graph& graph);

/// Folds BatchNormalization into the Conv, ConvTranspose or Gemm before it, when that is the only
/// reader and all parameters are constants:
/// w' = w gamma / sqrt(var + eps), b' = (b - mean) gamma / sqrt(var + eps) + beta, in double
/// precision, rounded once. The producer writes the normalised tensor and keeps its name.
void fold_batch_norm(Graph& graph);

/// Rewrites every node of ONNX's own domain in terms of kCanonicalOpset, from older and newer
/// opsets, and the nodes of com.microsoft that microsoft.inc lists. Newer operators and attributes
/// that qtool runs and that have no equivalent stay as they are (arity.inc, newer.inc). Throws
/// Error(kUnsupported) naming node, operator and opset for the others, and Error(kInvalidModel) for
/// an attribute that the operator does not have in the model's opset, up to the canonical one.
/// Unknown operators of other domains stay.
void upgrade_opset(Graph& graph);

/// Whether newer.inc lists the attribute, with any value.
bool is_newer_attribute(std::string_view op_type, std::string_view attribute);

/// The oldest opset from kCanonicalOpset on that has all operators and attributes of a graph.
std::int64_t least_opset(const Graph& graph);

/// Rewrites a graph of kCanonicalOpset that holds something newer in terms of its least opset, so
/// that other tools read it; upgrade_opset() undoes it. Other graphs stay as they are, and so do
/// those with an operator of ONNX's own domain that no opset is known to have.
void raise_opset(Graph& graph);

}  // namespace qtool
