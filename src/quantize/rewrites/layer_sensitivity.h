#pragma once

#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/rewrites/channel_groups.h"
#include "quantize/rewrites/channel_noise.h"

namespace qtool {

/// How much a layer amplifies the noise of its input, and how much noise the rounding of its
/// weights adds.
struct LayerSensitivity {
  std::vector<double> gain;    ///< by input channel: sum of the squares of the weights that read it
  std::vector<double> weight;  ///< by input channel: mean square that rounding these weights adds
  double power = 0.0;          ///< mean square of the results, summed over their channels
};

/// The sensitivity of a layer whose input channels have the models `models`. Its power is 0 if the
/// number of models is not the number of input channels. Each output channel has a scale for its
/// weights. The factors may shrink this scale, but that is ignored. Cost: linear in the weights.
LayerSensitivity sensitivity_of(const Graph& graph, const ScalableLayer& layer,
                                const std::vector<ChannelModel>& models, const Target& target);

}  // namespace qtool
