#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "program/command.h"

namespace qtool::tool {

struct StepResults;

/// What parsing the command line decided: the work to do once all of it is known to be well-formed.
struct Session {
  std::function<void()> run;
  /// Where the command is a step of another one: takes its result, which is then not printed.
  StepResults* step = nullptr;
};

/// What a command line asks for.
enum class Request { kRun, kHelp, kAllHelp, kVersion };

/// The program: its commands, and the options that all of them have besides their own.
class Program {
 public:
  explicit Program(std::string summary = "", std::string footer = "");

  /// Adds a command. `examples` are full command lines.
  Command& add_command(const std::string& name, const std::string& summary,
                       std::vector<std::string> examples);

  /// Reads the words that follow the program's name, gives the options of one command their values,
  /// and does what its on_parsed() says, if the command is to be run. Throws CommandLineError for
  /// what is not well-formed.
  Request parse(const std::vector<std::string>& words);

  /// The command that the line names, null without one; also after parse() threw.
  [[nodiscard]] const Command* given() const { return given_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  /// What the help page ends with.
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

/// Adds one command to the program; each cmd_*.cpp defines one, main.cpp lists them.
using AddCommand = void (*)(Program& program, Session& session);

}  // namespace qtool::tool
