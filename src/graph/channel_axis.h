#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"

namespace qtool {

/// Whether the channels of an activation lie along its last axis. This is so if a MatMul or a
/// recurrent layer multiplies the activation with constant weights and no convolution reads it. All
/// other activations have their channels on axis 1. Calibration records means and extremes along
/// the channel axis.
bool channels_are_last(const Graph& graph, ValueId activation);

/// The axis of the channels of an activation with `rank` axes, see channels_are_last().
std::int64_t channel_axis(const Graph& graph, ValueId activation, std::int64_t rank);

}  // namespace qtool
