#pragma once

#include <string>

#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// Warns about options of `quantize` that had no effect, or none on some layers or tensors, about
/// NaN and infinite values in the model, and about ranges that are missing in the table. `table` is
/// the file of the table.
void warn_of(const QuantizeReport& report, const std::string& table);

}  // namespace qtool::tool
