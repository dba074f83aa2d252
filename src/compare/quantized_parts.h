#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// An activation that the INT8 model rounds.
struct QuantizedActivation {
  std::string tensor;
  Affine affine;
  Limits limits{};
  // Reals beyond these are clipped first: types of fewer than 8 bits.
  float low = std::numeric_limits<float>::lowest();
  float high = std::numeric_limits<float>::max();
  /// Of each index of axis 1, what the INT8 model divides the FP32 tensor by before it rounds;
  /// empty for a tensor that both have alike. See ScaledChannels.
  std::vector<double> factors{};
};

/// Whether what rounding `real` takes from it goes through the layers that read `dequantized`, in a
/// second byte: see StaticOptions::wide.
bool is_wide(const Graph& int8, ValueId real, ValueId dequantized);

/// The reals that it keeps.
Range range_of(const QuantizedActivation& activation);

/// What an INT8 model changes of an FP32 network.
struct QuantizedParts {
  std::vector<QuantizedActivation> activations;  ///< in the order of the INT8 graph
  std::vector<NodeId> weighted;  ///< nodes of the FP32 graph whose constants are other ones
  std::unordered_set<NodeId> other_weights;  ///< of these, whose constants but the bias are other
  std::unordered_set<NodeId> other_bias;     ///< of these, whose bias is another one
  /// The FP32 graph with the constants of the INT8 model.
  Graph with_weights;
  /// The same with the biases of FP32.
  Graph without_biases;
  std::vector<std::string> not_compared;  ///< see AnalyzeResult
};

/// Finds the parts by the names of tensors and nodes. Both graphs are prepared. Of a rewritten
/// model, weights are those that the FP32 network would have to have for the same result. Throws as
/// scaled_channels_of(). Cost: linear.
QuantizedParts quantized_parts(const Graph& fp32, const Graph& int8);

/// The reals behind an input of a node: a constant, or constant integers behind a DequantizeLinear;
/// null for anything else.
std::shared_ptr<const Tensor> reals_of(const Graph& graph, ValueId id);

/// The graph with each QuantizeLinear of a constant replaced by its integers.
Graph with_integer_weights(Graph graph);

}  // namespace qtool
