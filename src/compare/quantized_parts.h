#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "quantize/rewrites/scaled_channels.h"

namespace qtool {

/// An activation that the INT8 model rounds.
struct QuantizedActivation {
  std::string tensor;
  Affine affine;
  Limits limits{};
  // Reals below `low` or above `high` are clipped before rounding. Used for types of fewer than 8
  // bits.
  float low = std::numeric_limits<float>::lowest();
  float high = std::numeric_limits<float>::max();
  /// The factors by which the INT8 model divides the channels of the FP32 tensor before it rounds.
  /// None for a tensor that is not divided. See ScaledChannels.
  ChannelScaling divided{};
  /// Whether the channels of a tensor that is not divided are its last axis, see
  /// channels_are_last().
  bool channels_last = false;
};

/// Whether the rounding error of `real` is kept in a second byte, which goes through the layers
/// that read `dequantized`. See StaticOptions::wide.
bool is_wide(const Graph& int8, ValueId real, ValueId dequantized);

/// The range of reals that the activation can have after rounding.
Range range_of(const QuantizedActivation& activation);

/// The changes that an INT8 model makes to an FP32 network.
struct QuantizedParts {
  std::vector<QuantizedActivation> activations;  ///< in the order of the INT8 graph
  std::vector<NodeId> weighted;                  ///< nodes of the FP32 graph with changed constants
  std::unordered_set<NodeId> other_weights;  ///< nodes with a changed constant that is not the bias
  std::unordered_set<NodeId> other_bias;     ///< nodes with a changed bias
  /// The FP32 graph with the constants of the INT8 model.
  Graph with_weights;
  /// The FP32 graph with the constants of the INT8 model, but with the biases of FP32.
  Graph without_biases;
  std::vector<std::string> not_compared;  ///< see AnalyzeResult
};

/// Finds the parts by the names of tensors and nodes. Both graphs must be prepared. The weights of
/// a rewritten model are scaled back: they are the weights that the FP32 network would need for the
/// same result. Throws as scaled_channels_of() does. Cost: linear.
QuantizedParts quantized_parts(const Graph& fp32, const Graph& int8);

/// The reals of an input of a node: a constant, or the result of a DequantizeLinear of constants.
/// Null for anything else.
std::shared_ptr<const Tensor> reals_of(const Graph& graph, ValueId id);

/// The graph with each QuantizeLinear of a constant replaced by its integers.
Graph with_integer_weights(Graph graph);

}  // namespace qtool
