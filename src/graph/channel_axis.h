#pragma once

#include "qtool/graph/graph.h"

namespace qtool {

/// Whether the channels of an activation are its last axis: it is what a MatMul or a recurrent
/// layer multiplies with constant weights. A convolution that reads it too has them on axis 1, as
/// all other activations have. Calibration keeps means and extremes along this axis.
bool channels_are_last(const Graph& graph, ValueId activation);

}  // namespace qtool
