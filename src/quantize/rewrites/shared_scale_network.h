#pragma once

#include <functional>
#include <span>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/rewrites/channel_groups.h"
#include "quantize/rewrites/channel_noise.h"

namespace qtool {

/// A tensor whose channels may have factors, and how far its integers must reach in each of them:
/// `up` above 0, `down` below it, both as numbers from 0 on.
struct RoundedTensor {
  ValueId id = kNoValue;
  bool is_clipped = false;  ///< by an upper bound for all channels alike
  std::vector<double> up;
  std::vector<double> down;
};

/// Of a tensor of which `kept` was kept and `observed` was observed, `samples` independent values
/// of each channel: values beyond those that were seen are counted in, those beyond `kept` are not.
RoundedTensor rounded_tensor(ValueId id, const Observed& observed, double samples,
                             const Range& kept);

/// What a network is to shared_scale_factors().
struct SharedNetwork {
  const Graph& graph;
  const Target& target;
  const ChannelGroups& groups;
  std::span<const RoundedTensor> tensors;
  /// Models of the channels of a layer's input; empty where they are not known.
  std::function<std::vector<ChannelModel>(ValueId input)> models;
};

/// The factor of each group of channels, by group, 1 where it can have none: those of
/// shared_scale_factors(), and all channels that depend on each other times one factor, so that no
/// range is wider than `up` and `down` allow before. Cost: that of shared_scale_factors().
std::vector<double> factors_for_shared_scales(const SharedNetwork& network);

}  // namespace qtool
