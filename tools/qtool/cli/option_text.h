#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace qtool::tool {

/// The description of one option for help pages, man pages and completion; made from its
/// definition.
struct OptionText {
  std::vector<std::string> names;  ///< `-o`, `--output`; a positional's placeholder
  std::string value;               ///< `FILE`, empty for a flag or positional
  std::string summary;             ///< one sentence, with the default
  std::string details;             ///< further sentences, words, and rules
};

OptionText describe(const Command& command, const Option& option);

struct OptionGroup {
  std::string name;
  std::vector<const Option*> options;
};

/// Every option of a command, and --config, in groups: arguments, options without a group, the
/// other groups in their order, and the general options last.
std::vector<OptionGroup> groups_of(const Program& program, const Command& command);

/// `calibrate [MODEL] --images DIR [options]`.
std::string synopsis(const Command& command);

}  // namespace qtool::tool
