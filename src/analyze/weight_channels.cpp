#include "analyze/weight_channels.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "graph/op_traits.h"
#include "quantize/weights/channel_walk.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

void describe_weights(const Graph& fp32, const Graph& int8, NodeId node, ErrorSource& source) {
  const std::optional<WeightPorts> ports = weight_ports(fp32, node);
  const std::optional<WeightPorts> other = weight_ports(int8, node);
  if (!ports || !other) return;
  const Tensor real = real_weights(fp32, *ports);
  const Tensor rounded = real_weights(int8, *other);
  if (real.shape() != rounded.shape() || ports->channels < 1) return;
  const auto channels = static_cast<std::size_t>(ports->channels);
  source.weight_channels.assign(channels, {});
  std::vector<double> errors(channels, 0.0);
  double all = 0.0;
  const std::span<const float> from = real.values<float>();
  const std::span<const float> to = rounded.values<float>();
  ChannelWalk(real.shape(), ports->axis).each([&](std::size_t channel, std::size_t i) {
    WeightChannel& row = source.weight_channels[channel];
    row.reached.min = std::min(row.reached.min, from[i]);
    row.reached.max = std::max(row.reached.max, from[i]);
    const double error = static_cast<double>(from[i]) - static_cast<double>(to[i]);
    errors[channel] += error * error;
    all += error * error;
  });
  for (std::size_t c = 0; c < channels && all > 0.0; ++c) {
    source.weight_channels[c].error_share = errors[c] / all;
  }
  const Node& layer = fp32.node(node);
  source.filter = ports->depth;
  // A filter has the channels that it reads on axis 1. Transposed, it has those of all groups on 0.
  const std::int64_t groups = layer.get_int("group", 1);
  source.depthwise = traits_of(layer).kind == OpKind::kConvolution && groups > 1 &&
                     (ports->axis == 0 ? real.shape()[1] == 1 : real.shape()[0] == groups);
}

}  // namespace qtool
