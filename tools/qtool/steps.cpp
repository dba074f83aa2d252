#include "steps.h"

#include "base/text.h"
#include "files.h"
#include "qtool/base/error.h"

namespace qtool::tool {

// The name of a model that begins with - looks like an option, so it gets `./` in front.
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

void StepLine::take(const Option& option) {
  for (const std::string& given : option.values()) {
    if (!option.is_flag()) {
      value(option.name(), given);
    } else if (given == "true") {
      flag(option.name());
    }
  }
}

void StepLine::take(const Command& driver, const std::vector<std::string>& options) {
  for (const std::string& option : options) take(driver.find(option));
}

void StepLine::take_group(const Command& driver, const std::string& group) {
  for (const auto& option : driver.options()) {
    if (option->group() == group) take(*option);
  }
}

void run_step(AddCommand add, const std::vector<std::string>& words,
              const std::vector<std::string>& quietly, StepResults& results) {
  begin_step();
  Program program;
  Session session{.run = {}, .step = &results};
  add(program, session);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  rest.insert(rest.end(), quietly.begin(), quietly.end());
  try {
    static_cast<void>(program.parse(rest));
  } catch (const CommandLineError& problem) {
    throw Error(ErrorCode::kUsage, problem.what());
  }
  program.given()->require_effect();
  session.run();
}

}  // namespace qtool::tool
