#include "shown_command.h"

#include "base/text.h"
#include "report/shell.h"

namespace qtool::tool {
namespace {

void add_target_option(const Recipe& recipe, ShownCommand& line) {
  if (recipe.target != kDefaultTarget) line.value("--target", recipe.target);
}

}  // namespace

// The name of a model that begins with - looks like an option, so it gets `./` in front.
ShownCommand::ShownCommand(const std::string& command, const std::string& model)
    : words_{"qtool", command, model.starts_with('-') ? to_text("./", model) : model} {}

void ShownCommand::value(const std::string& option, const std::string& value) {
  add_option(option, value, words_);
}

void ShownCommand::take(const Option& option) {
  for (const std::string& given : option.values()) {
    if (!option.is_flag()) {
      value(option.name(), given);
    } else if (given == "true") {
      flag(option.name());
    }
  }
}

void ShownCommand::take(const Command& running, const std::vector<std::string>& options) {
  for (const std::string& option : options) take(running.find(option));
}

void ShownCommand::take_group(const Command& running, const std::string& group,
                              std::string_view but) {
  for (const auto& option : running.options()) {
    if (option->group() == group && option->name() != but) take(*option);
  }
}

void add_table_options(const Recipe& recipe, ShownCommand& line) {
  if (recipe.method != kDefaultMethod) line.value("--method", recipe.method);
  if (recipe.rewrites && !recipe.rewrites->empty()) line.value("--equalize", "table");
  add_target_option(recipe, line);
}

void add_model_options(const Recipe& recipe, ShownCommand& line) {
  line.value("--effort", std::string(info_of(recipe.effort).name));
  if (recipe.rewrites) line.value("--equalize", recipe.rewrites->empty() ? "off" : "table");
  if (recipe.rounding) line.value("--weight-rounding", *recipe.rounding);
  if (recipe.tune_ranges) line.flag("--tune-ranges");
  if (recipe.bias_correction) {
    const BiasCorrection correction = *recipe.bias_correction;
    line.value("--bias-correction", correction == BiasCorrection::kOff          ? "off"
                                    : correction == BiasCorrection::kSequential ? "sequential"
                                                                                : "table");
  }
  add_target_option(recipe, line);
}

}  // namespace qtool::tool
