#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace qtool::tool {

/// The result of parsing the command line: the work to do once the whole line is known to be
/// well-formed.
struct Session {
  std::function<void()> run;
};

/// The request of a command line.
enum class Request { kRun, kHelp, kAllHelp, kVersion };

/// The program: its commands, and the options of the program itself.
class Program {
 public:
  explicit Program(std::string summary = "", std::string footer = "");

  /// Adds a command. `examples` are full command lines.
  Command& add_command(const std::string& name, const std::string& summary,
                       std::vector<std::string> examples);

  /// Reads the words that follow the program's name and gives the options of the named command
  /// their values. If the command is to be run, also runs the action of its on_parsed(). Throws
  /// CommandLineError for a malformed command line.
  Request parse(const std::vector<std::string>& words);

  /// The command that the line names, or null. Also valid after parse() threw.
  [[nodiscard]] const Command* given() const { return given_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  /// The text at the end of the help page.
  [[nodiscard]] const std::string& footer() const { return footer_; }
  /// --help, --version and --config.
  [[nodiscard]] const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  /// --config, which holds for all commands.
  [[nodiscard]] const Option& config() const { return *options_.back(); }
  /// The commands, in the order of `qtool --help`.
  [[nodiscard]] const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }

 private:
  std::string summary_;
  std::string footer_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<Command>> commands_;
  const Command* given_ = nullptr;
};

/// Adds one command to the program. The files in commands/ define these functions, and main.cpp
/// lists them.
using AddCommand = void (*)(Program& program, Session& session);

}  // namespace qtool::tool
