#include "usage.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace qtool::tool {
namespace {

std::string unexpected_word(const CLI::App& app) {
  const CLI::App& command = innermost(app);
  const std::string word = app.remaining(true).front();
  std::vector<std::string> candidates;
  std::string_view kind = "argument";
  if (word.starts_with("-")) {
    kind = "option";
    for (const CLI::App* level : {&command, &app}) {
      for (const CLI::Option* option : level->get_options()) {
        for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
      }
    }
  } else if (&command == &app) {
    kind = "command";
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      candidates.push_back(sub->get_name());
    }
  }
  return concat("unknown ", kind, " '", word, "'", nearest_text(word, candidates));
}

std::string quoted(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += concat(text.empty() ? "'" : ", '", value, "'");
  return text;
}

// An option that has more values than it takes, or none; CLI11 says neither which nor what they
// are.
std::string wrong_count(const CLI::App& app, const std::string& message) {
  for (const CLI::App* level : {&innermost(app), &app}) {
    for (const CLI::Option* option : level->get_options()) {
      if (is_flag(*option)) continue;
      const std::vector<std::string>& values = option->results();
      if (std::ssize(values) > option->get_items_expected_max()) {
        return concat(option->get_name(), ": given ", values.size(), " times (", quoted(values),
                      "), expected once");
      }
      if (values.empty() && message.starts_with(option->get_name() + ":")) {
        return concat(option->get_name(), ": found no value, expected ", option->get_type_name());
      }
    }
  }
  return message;
}

}  // namespace

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::string usage_text(const CLI::App& app, const CLI::ParseError& problem) {
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr) return unexpected_word(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
    return wrong_count(app, problem.what());
  }
  return problem.what();
}

void check_flags(CLI::App& app) {
  const auto check = [](const std::string& text) {
    const bool known = text == "true" || text == "false";
    return known ? std::string() : concat("found '", text, "', expected true or false");
  };
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (is_flag(*option) && option->get_configurable()) {
        option->check(CLI::Validator(check, ""));
      }
    }
  }
}

}  // namespace qtool::tool
