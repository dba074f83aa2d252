#pragma once

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Checks that a table which does not know its model belongs to this one: every activation it names
/// must be a tensor of the model as loaded or as prepared, and so must every weight. TensorRT's
/// names for its own inner tensors, `(Unnamed Layer* 7) ...`, are passed over. Throws
/// Error(kMismatch) with the three nearest names for the first one that is unknown. Cost: linear,
/// if all are known.
void require_known_tensors(const CalibrationTable& table, const Graph& loaded,
                           const Graph& prepared);

}  // namespace qtool
