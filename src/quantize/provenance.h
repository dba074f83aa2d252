#pragma once

#include <span>
#include <string>

#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// Writes into the metadata of `quantized` what it was made from and for: see kSourceKey.
void add_provenance(const Graph& prepared, const QuantizeOptions& options,
                    std::span<const std::string> rewrites, Graph& quantized);

}  // namespace qtool
