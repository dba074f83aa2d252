#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace qtool::tool {

/// What parsing the command line decided: the work to do once all of it is known to be well-formed.
struct Session {
  std::function<void()> run;
};

/// A sub-command with its help text. `example` is a full command line. Options that a sub-command
/// does not know are looked up in the program's own, so `--config` is accepted before and after it.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& example);

/// Adds one command to the program; each cmd_*.cpp defines one, main.cpp lists them.
using AddCommand = void (*)(CLI::App& app, Session& session);

}  // namespace qtool::tool
