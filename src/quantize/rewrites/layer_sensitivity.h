#pragma once

#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/rewrites/channel_groups.h"
#include "quantize/rewrites/channel_noise.h"

namespace qtool {

/// What a layer makes of the noise of its input, and what rounding its weights adds.
struct LayerSensitivity {
  std::vector<double> gain;    ///< by input channel: sum of the squares of the weights that read it
  std::vector<double> weight;  ///< by input channel: mean square that rounding these weights adds
  double power = 0.0;          ///< mean square of the results, summed over their channels
};

/// The noise of a layer whose input channels are like `models`; without power where they are not
/// its own. Each output channel has a scale for its weights; that this may shrink with the factors
/// is left aside. Cost: linear in the weights.
LayerSensitivity sensitivity_of(const Graph& graph, const ScalableLayer& layer,
                                const std::vector<ChannelModel>& models, const Target& target);

}  // namespace qtool
