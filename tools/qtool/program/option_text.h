#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace qtool::tool {

/// The description of one option for help pages, man pages and completion; made from its
/// definition.
struct OptionText {
  std::vector<std::string> names;  ///< `-o`, `--output`; a positional's placeholder
  std::string value;               ///< `FILE`, empty for a flag or positional
  std::string summary;             ///< one sentence, with the default
  std::string details;             ///< what else is to know: further sentences, words, company
};

OptionText describe(const Command& command, const Option& option);

struct OptionGroup {
  std::string name;
  std::vector<const Option*> options;
};

/// Every option of a command, and of the program where it holds for all commands, in groups:
/// arguments, those without a group, then the groups in their order.
std::vector<OptionGroup> groups_of(const Program& program, const Command& command);

/// `calibrate [MODEL] --images DIR [options]`.
std::string synopsis(const Command& command);

}  // namespace qtool::tool
