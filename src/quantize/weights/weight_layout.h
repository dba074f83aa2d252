#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

/// The order of a layer's weights in memory: the weight for output channel c, input i and tap t is
/// at first(c, i) + t.
struct WeightLayout {
  std::int64_t channel_step = 0;
  std::int64_t input_step = 0;
  std::int64_t inputs = 0;  ///< inputs that one output channel reads
  std::int64_t taps = 1;    ///< weights per input and output channel
  /// The number of output positions among which the taps are divided: a ConvTranspose distributes
  /// its taps over its strides.
  double shared_by = 1.0;
  std::int64_t channels_per_group = 0;
  std::int64_t total_inputs = 0;  ///< inputs of all groups together

  [[nodiscard]] std::int64_t first(std::int64_t c, std::int64_t i) const {
    return c * channel_step + i * input_step;
  }
  /// The layer's input channel that is input i of output channel c.
  [[nodiscard]] std::int64_t input_channel(std::int64_t c, std::int64_t i) const {
    return c / channels_per_group * inputs + i;
  }
};

/// The order of the weights of a node with `ports`, which have the shape `shape`.
WeightLayout layout_of(const Graph& graph, NodeId node, const WeightPorts& ports,
                       const Shape& shape);

}  // namespace qtool
