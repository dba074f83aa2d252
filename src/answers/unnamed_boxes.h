#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "qtool/exec/executor.h"

namespace qtool {

/// What the outputs of a network probably are if they have the shapes of a detector that has no
/// name here, with what is missing to read them; empty if they do not have such shapes. `width` and
/// `height`: of the network's input. These are known:
/// - maps of several strides, which the network does not join. The maps of a backbone or a pyramid
///   of features are none: their channels grow with the stride, or are a power of two;
/// - an output with four numbers for each row, and another with as many rows;
/// - rows of a round number of queries, as those of transformers.
std::string unnamed_boxes(std::span<const PortInfo> outputs, std::int64_t width,
                          std::int64_t height);

}  // namespace qtool
