#pragma once

#include <string>

#include "cli/command.h"

namespace qtool::tool {

/// Adds --target NAME.
void add_target(Command& command, std::string& target);

}  // namespace qtool::tool
