#pragma once

#include <span>
#include <string>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// Throws Error(kMismatch) when the table belongs to another model. The right model is the one of
/// QuantizeOptions::model_fingerprint or, without a value there, `prepared`.
void require_same_model(const Graph& prepared, const CalibrationTable& table,
                        const QuantizeOptions& options);

/// Writes the source, target, rewrites and rounding of `quantized` into its metadata, see
/// kSourceKey.
void add_provenance(const Graph& prepared, const QuantizeOptions& options,
                    std::span<const std::string> rewrites, Graph& quantized);

}  // namespace qtool
