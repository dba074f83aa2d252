#pragma once

#include <vector>

#include "analyze/exclusions.h"
#include "qtool/analyze/analyze.h"

namespace qtool {

/// The nodes that must be in FP32 to remove the loudest 1, 2, 4, 8 and 16 sources. Each set
/// contains the set before it. Sets that add no node are left out, and so are sources that make
/// less than a hundredth of the noise. A few nodes often bring most of what a long search brings,
/// at a lower cost. `analysis`: its sources have the largest noise first.
std::vector<NodeSet> loudest_sources(const AnalyzeResult& analysis, const Exclusions& exclusions);

}  // namespace qtool
