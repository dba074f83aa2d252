#pragma once

#include "qtool/graph/graph.h"

namespace qtool {

/// The only input of a network as the graph declares it. Throws Error(kUnsupported) naming the
/// inputs when there are several: an image can be fed to one only.
const Value& image_input(const Graph& graph);

}  // namespace qtool
