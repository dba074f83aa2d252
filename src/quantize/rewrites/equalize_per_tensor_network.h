#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/id_map.h"
#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/rewrites/channel_groups.h"
#include "quantize/rewrites/channel_noise.h"

namespace qtool {

/// A tensor whose channels may have factors, and the range that its integers must cover in each
/// channel: from -`down` to `up`. Both are 0 or above.
struct RoundedTensor {
  ValueId id = kNoValue;
  bool is_clipped = false;  ///< by one upper bound for all channels
  std::vector<double> up;
  std::vector<double> down;
};

/// The RoundedTensor of the tensor `id`. `observed`: its statistics. `samples`: the number of
/// independent values of each channel. `kept`: the range that its integers keep. The range of a
/// channel includes values that the tails predict beyond the observed ones, but nothing beyond
/// `kept`.
RoundedTensor rounded_tensor(ValueId id, const Observed& observed, double samples,
                             const Range& kept);

/// The description of a network for factors_for_shared_scales().
struct SharedNetwork {
  const Graph& graph;
  const Target& target;
  const ChannelGroups& groups;
  std::span<const RoundedTensor> tensors;
  /// Models of the channels of a layer's input; empty if they are not known.
  std::function<std::vector<ChannelModel>(ValueId input)> models;
};

/// The factor of each group of channels; 1 for a group that cannot be scaled. The factors of
/// shared_scale_factors() are multiplied by one common factor for all channels that depend on each
/// other, so that no range gets wider than `up` and `down` were before. Cost: that of
/// shared_scale_factors().
IdMap<ChannelGroup, double> factors_for_shared_scales(const SharedNetwork& network);

}  // namespace qtool
