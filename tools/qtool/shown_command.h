#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "qtool/pipeline/recipe.h"

namespace qtool::tool {

/// A command line to print, which the user can run.
class ShownCommand {
 public:
  /// `model`: the file that the command reads.
  ShownCommand(const std::string& command, const std::string& model);

  void flag(const std::string& option) { words_.push_back(option); }
  void value(const std::string& option, const std::string& value);
  /// Adds options of the running command, with the values that they have there.
  void take(const Command& running, const std::vector<std::string>& options);
  /// Adds all options of the running command in a group of its help, with the values that they have
  /// there. `but`: the option that is left out.
  void take_group(const Command& running, const std::string& group, std::string_view but = {});

  /// The words, the program first.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  void take(const Option& option);
  std::vector<std::string> words_;
};

/// Adds the options of `calibrate` for the recipe: method, rewrites and target. Types, overrides
/// and the options of the method are not among them.
void add_table_options(const Recipe& recipe, ShownCommand& line);

/// Adds the options of `quantize` for the recipe: effort, rewrites, what is learned, and target.
/// Types, overrides and limits are not among them.
void add_model_options(const Recipe& recipe, ShownCommand& line);

}  // namespace qtool::tool
