#pragma once

#include <string>

#include "cli/command.h"
#include "qtool/quantize/quantize.h"
#include "report/suggestions.h"

namespace qtool::tool {

/// The commands that make the INT8 model of `base` from `model` and `table`. `running`: the command
/// whose options, beside the table, chose the base; null if the INT8 model itself says them.
MakingCommands making_commands_of(const std::string& model, const std::string& table,
                                  const StaticInputs& base, const Command* running);

}  // namespace qtool::tool
