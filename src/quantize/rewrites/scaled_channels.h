#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/weights/weights.h"

namespace qtool {

/// The tensors of a network whose channels equalization divided by factors. An INT8 model carries
/// them in its metadata: with them it is compared with its FP32 network tensor by tensor.
struct ScaledChannels {
  /// By the name of a tensor, the factor of each index of axis 1, see factor_of_step(). Empty: it
  /// was changed otherwise, its elements by factors that no channel has in common, for example.
  /// Tensors that are not here are as they were.
  std::map<std::string, std::vector<double>, std::less<>> factors;

  /// The factors of a tensor; null where it is as it was.
  [[nodiscard]] const std::vector<double>* find(std::string_view tensor) const;
};

/// The text for the metadata: JSON, a list of `{"tensors": [names], "factors": "AAEC"}`. A letter
/// is the factor of a channel: A is 1, each further one a quarter of an octave less, see
/// factor_of_step(). Throws Error(kInvalidArgument) for any other factor.
std::string to_json_text(const ScaledChannels& scaled);

/// Reads what to_json_text() wrote out of the metadata of an INT8 model; nothing for one that was
/// not rewritten. Throws Error(kInvalidModel) for text of another form, and Error(kUnsupported)
/// when the model was rewritten and does not say how.
ScaledChannels scaled_channels_of(const Graph& int8);

/// Multiplies the weights of a layer by `in` of the input channel that each reads, and divides them
/// by `out` of the output channel that it belongs to; what is beyond their ends counts as 1.
/// `weights` has the layout of those that the node has.
void scale_weights(const Graph& graph, NodeId node, const WeightPorts& ports,
                   std::span<const double> in, std::span<const double> out, Tensor& weights);

/// Multiplies each index of axis 1 of a tensor of floats, in place. Throws Error(kMismatch), which
/// names the tensor, when there is another number of factors.
void scale_channels(const TensorView& tensor, std::string_view name,
                    std::span<const double> factors, float* values);

}  // namespace qtool
