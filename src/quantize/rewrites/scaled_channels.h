#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

/// The factors by which the channels of a tensor are divided or multiplied.
struct ChannelScaling {
  std::int64_t axis = 1;  ///< of the channels
  std::vector<double> factors;
  friend auto operator<=>(const ChannelScaling&, const ChannelScaling&) = default;
};

/// The tensors of a network whose channels equalization divided by factors. An INT8 model has them
/// in its metadata, so that it can be compared with its FP32 network tensor by tensor.
struct ScaledChannels {
  /// By the name of a tensor: the factor of each channel, see factor_of_step(). Without factors the
  /// tensor was changed in another way, for example by different factors within a channel. Tensors
  /// without an entry are unchanged.
  std::map<std::string, ChannelScaling, std::less<>> tensors;

  /// The factors of a tensor; null if it is unchanged.
  [[nodiscard]] const ChannelScaling* find(std::string_view tensor) const;
};

/// The text for the metadata: JSON, a list of `{"tensors": [names], "factors": "AAEC"}`, with
/// `"axis": 2` where the channels do not lie along axis 1. A character is the factor of a channel:
/// A is 1, and from each character to the next the factor gets smaller by 2^(1/4), see
/// factor_of_step(). Throws Error(kInvalidArgument) for any other factor.
std::string to_json_text(const ScaledChannels& scaled);

/// Reads the text of to_json_text() from the metadata of an INT8 model. The result is empty for a
/// model that was not rewritten. Throws Error(kInvalidModel) for text of another form, and
/// Error(kUnsupported) when the model was rewritten but has no such text.
ScaledChannels scaled_channels_of(const Graph& int8);

/// Multiplies each weight of a layer by the factor of its input channel in `in`, and divides it by
/// the factor of its output channel in `out`. Channels beyond the end of a list have the factor 1.
/// `weights` has the layout of the node's own weights.
void scale_weights(const Graph& graph, NodeId node, const WeightPorts& ports,
                   std::span<const double> in, std::span<const double> out, Tensor& weights);

/// Divides what was observed of each channel by its factor. There is one factor per mean.
void divide_channels(Observed& observed, std::span<const double> factors);
/// Removes what was observed of single channels.
void forget_channels(Observed& observed);

/// Multiplies the elements of each channel by its factor, in place in `values`. `tensor` gives
/// their shape and layout. Throws Error(kMismatch) with `name` if the tensor does not have that
/// number of channels along the axis.
void scale_channels(const TensorView& tensor, std::string_view name, const ChannelScaling& scaling,
                    float* values);

}  // namespace qtool
