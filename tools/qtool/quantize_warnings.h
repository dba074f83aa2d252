#pragma once

#include <string>

#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// Warns of what the options of `quantize` had no effect on, and of what the model and the table,
/// which lies in the file `table`, lack.
void warn_of(const QuantizeReport& report, const std::string& table);

}  // namespace qtool::tool
