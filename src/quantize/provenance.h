#pragma once

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// Writes into the metadata of `quantized` what it was made from and for: see kSourceKey.
void add_provenance(const Graph& prepared, const QuantizeOptions& options, Graph& quantized);

}  // namespace qtool
