#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace qtool::tool {

/// One `key = value` of a configuration file (TOML or INI). Keys are long option names without
/// dashes.
struct ConfigEntry {
  std::vector<std::string> sections;  ///< `[calibrate]`; none before any section
  std::string key;
  std::vector<std::string> values;
};

/// The text in the bytes of a configuration file. Throws CommandLineError for a file of another
/// kind.
std::string config_text(std::string_view bytes);

/// Those of the entries that are for the command that was given, each in its section. A section
/// [calibrate] is for that command only; keys before any section are for every command that has the
/// option. The command line overrides them all. Throws CommandLineError with the nearest names for
/// a key or section that no command knows.
std::vector<ConfigEntry> entries_for(Command* given, const Program& program,
                                     std::vector<ConfigEntry> entries);

}  // namespace qtool::tool
