#include "steps.h"

#include <utility>

#include "base/text.h"
#include "files.h"
#include "qtool/base/error.h"
#include "usage.h"

namespace qtool::tool {

// A model whose name looks like an option is named by its path.
StepLine::StepLine(const std::string& command, const std::string& model)
    : words_{"qtool", command, model.starts_with('-') ? concat("./", model) : model} {}

void StepLine::value(const std::string& option, const std::string& value) {
  if (value.starts_with('-')) {
    words_.push_back(concat(option, "=", value));
  } else {
    words_.push_back(option);
    words_.push_back(value);
  }
}

void StepLine::take(const CLI::Option& option) {
  if (option.count() == 0) return;
  const std::string name = option.get_name();
  for (const std::string& given : option.results()) {
    if (!is_flag(option)) {
      value(name, given);
    } else if (given == "true") {
      flag(name);
    }
  }
}

void StepLine::take(const Command& driver, const std::vector<std::string>& options) {
  for (const std::string& option : options) take(*driver.get_option(option));
}

void StepLine::take_group(const Command& driver, const std::string& group) {
  for (const CLI::Option* option : driver.get_options()) {
    if (option->get_group() == group) take(*option);
  }
}

void run_step(AddCommand add, const std::vector<std::string>& words,
              const std::vector<std::string>& quietly, StepResults& results) {
  begin_step();
  CLI::App app("", "qtool");
  Session session{.run = {}, .step = &results};
  add(app, session);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  rest.insert(rest.end(), quietly.begin(), quietly.end());
  std::vector<std::string> reversed(rest.rbegin(), rest.rend());  // as CLI11 takes them
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& problem) {
    throw Error(ErrorCode::kUsage, usage_text(app, problem));
  }
  static_cast<const Command&>(innermost(app)).require_effect();
  session.run();
}

}  // namespace qtool::tool
