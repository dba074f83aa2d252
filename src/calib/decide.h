#pragma once

#include <string_view>

#include "qtool/calib/collect.h"
#include "qtool/calib/method.h"
#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Chooses the range and the affine map of every collected tensor and computes its error. Throws
/// Error(kUsage) for an unknown method or wrong options. Cost: a few milliseconds per tensor at
/// most.
CalibrationTable decide(const Collection& collection, std::string_view method,
                        const MethodOptions& options, int threads = 0);

/// Adds an alias for each tensor that the preparation of the model replaced by a tensor of the
/// table, so that both names find the entry. `prepared`: the graph that prepare() returned. Cost:
/// linear.
void add_aliases(const Graph& prepared, CalibrationTable& table);

}  // namespace qtool
