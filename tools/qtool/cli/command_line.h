#pragma once

#include <string>
#include <vector>

namespace qtool::tool {

/// Keeps the words that the program was started with, for results that state how they were made.
void keep_command_line(int argc, const char* const* argv);
const std::vector<std::string>& command_line();

}  // namespace qtool::tool
