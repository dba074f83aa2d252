#pragma once

#include <string_view>

#include "qtool/calib/collect.h"
#include "qtool/calib/method.h"
#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Ranges, affine maps and errors of every collected tensor. Throws Error(kUsage) for an unknown
/// method or wrong options. Cost: a few milliseconds per tensor at most.
CalibrationTable decide(const Collection& collection, std::string_view method,
                        const MethodOptions& options, int threads = 0);

/// Adds the names of tensors that preparing the model replaced by others in the table, so that
/// either name finds the entry. `prepared` as prepare() made it. Cost: linear.
void add_aliases(const Graph& prepared, CalibrationTable& table);

}  // namespace qtool
