#pragma once

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Checks that a table without a model fingerprint fits this model: every activation and weight it
/// names must be a tensor of the model as loaded or as prepared. TensorRT's names for its internal
/// tensors, `(Unnamed Layer* 7) ...`, are ignored. Throws Error(kMismatch) with the three nearest
/// names for the first one that is unknown. Cost: linear, if all are known.
void require_known_tensors(const CalibrationTable& table, const Graph& loaded,
                           const Graph& prepared);

}  // namespace qtool
