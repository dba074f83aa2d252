#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "qtool/quantize/quantize.h"
#include "report/first_model.h"
#include "report/suggestions.h"

namespace qtool::tool {

/// The commands that make the INT8 model of `base` from `model` and `table`. `running`: the command
/// whose options, beside the table, chose the base; null if the INT8 model itself says them.
MakingCommands making_commands_of(const std::string& model, const std::string& table,
                                  const StaticInputs& base, const Command* running);

/// The command that compares with FP32 what MakingCommands::quantize makes, on all samples of
/// `running`, whatever its --limit, and with its answers. `running` is analyze.
CommandWords eval_of_improved(const std::string& model, const StaticInputs& base,
                              const Command& running);

/// The commands for the step that advise() names, after `running`, which is analyze. `int8` and
/// `table`: its files; one of them is empty. `has_more`: whether its --limit left samples out. None
/// where the files or the samples do not suffice.
std::vector<CommandWords> next_commands(const std::string& model, const std::string& int8,
                                        const std::string& table, const Command& running,
                                        const Advice& advice, bool has_more);

}  // namespace qtool::tool
