#include "cli/usage_errors.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "base/did_you_mean.h"
#include "base/text.h"

namespace qtool::tool {
namespace {

// The options that the command line may have: first the options of the command, then the other
// options of the program.
std::vector<const Option*> known_options(const Program& program, const Command* given) {
  std::vector<const Option*> options;
  if (given != nullptr) {
    for (const auto& option : given->options()) options.push_back(option.get());
  }
  for (const auto& option : program.options()) {
    if (given == nullptr || given->find_or_null(option->name()) == nullptr) {
      options.push_back(option.get());
    }
  }
  return options;
}

std::string quoted(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += to_text(text.empty() ? "'" : ", '", value, "'");
  return text;
}

}  // namespace

std::string unknown_word_text(const Program& program, const Command* given,
                              const std::string& word) {
  std::vector<std::string> candidates;
  std::string_view kind = "argument";
  if (word.starts_with("-")) {
    kind = "option";
    for (const Option* option : known_options(program, given)) {
      for (const std::string& name : option->long_names()) candidates.push_back("--" + name);
    }
  } else if (given == nullptr) {
    kind = "command";
    for (const auto& command : program.commands()) candidates.push_back(command->name());
  }
  return to_text("unknown ", kind, " '", word, "'", did_you_mean(word, candidates));
}

std::string wrong_count_text(const Program& program, const Command* given,
                             const std::string& message) {
  for (const Option* option : known_options(program, given)) {
    if (option->is_flag()) continue;
    const std::vector<std::string>& values = option->values();
    if (values.size() > 1 && !option->takes_several()) {
      return to_text(option->name(), ": given ", values.size(), " times (", quoted(values),
                     "), expected once");
    }
    if (values.empty() && message.starts_with(option->name() + ":")) {
      return to_text(option->name(), ": found no value, expected ", option->placeholder());
    }
  }
  return message;
}

}  // namespace qtool::tool
