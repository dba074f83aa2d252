#pragma once

#include <span>
#include <string>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// Throws Error(kMismatch) when the table belongs to another model than `prepared`, or than
/// QuantizeOptions::model_fingerprint names.
void require_same_model(const Graph& prepared, const CalibrationTable& table,
                        const QuantizeOptions& options);

/// Writes into the metadata of `quantized` what it was made from and for: see kSourceKey.
void add_provenance(const Graph& prepared, const QuantizeOptions& options,
                    std::span<const std::string> rewrites, Graph& quantized);

}  // namespace qtool
