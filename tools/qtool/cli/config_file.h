#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace qtool::tool {

/// One `key = value` of a configuration file (TOML or INI). Keys are long option names without
/// dashes.
struct ConfigEntry {
  std::vector<std::string> sections;  ///< for example `calibrate`; empty before the first section
  std::string key;
  std::vector<std::string> values;
};

/// The text in the bytes of a configuration file. Throws CommandLineError for a file of another
/// kind.
std::string config_text(std::string_view bytes);

/// The entries that apply to the given command, each in the section of that command. A section
/// [calibrate] is for that command only. Keys before the first section are for every command that
/// has the option. The command line overrides all entries. Throws CommandLineError with the nearest
/// names for a key or section that no command knows.
std::vector<ConfigEntry> entries_for(Command* given, const Program& program,
                                     std::vector<ConfigEntry> entries);

}  // namespace qtool::tool
