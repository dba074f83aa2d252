#include "cli/option_text.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace qtool::tool {
namespace {

constexpr const char* kUngrouped = "Options";  // heading of options without a group

std::string placeholder_of(const Option& option) {
  return to_text(option.placeholder(), option.takes_several() ? "..." : "");
}

std::string appended(std::string text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += ' ';
  return text + more;
}

}  // namespace

OptionText describe(const Command& command, const Option& option) {
  OptionText text;
  if (option.is_positional()) {
    text.names = {placeholder_of(option)};
  } else {
    text.names = option.dashed_names();
    text.value = option.placeholder();
  }
  const std::string& description = option.text();
  const std::size_t end = description.find('\n');
  text.summary = description.substr(0, end);
  if (option.is_required() && !option.is_positional()) text.summary += " (required)";
  const std::string& value = option.default_text();
  if (!value.empty()) text.summary += to_text(" (default: ", value, ")");
  if (end != std::string::npos) text.details = description.substr(end + 1);
  const std::vector<std::string>& words = option.words();
  if (!words.empty()) {
    text.details = appended(text.details, to_text("One of ", alternatives(words), "."));
  }
  if (option.takes_several() && !option.is_positional()) {
    text.details = appended(text.details, "May be given several times.");
  }
  text.details = appended(text.details, command.company_text(option));
  return text;
}

std::vector<OptionGroup> groups_of(const Program& program, const Command& command) {
  std::vector<OptionGroup> groups = {{"Arguments", {}}, {kUngrouped, {}}};
  OptionGroup general = {kGeneralGroup, {}};
  for (const auto& option : command.options()) {
    const std::string name = option->is_positional()   ? "Arguments"
                             : option->group().empty() ? kUngrouped
                                                       : option->group();
    if (name == kGeneralGroup) {
      general.options.push_back(option.get());
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const OptionGroup& known) { return known.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->options.push_back(option.get());
  }
  general.options.push_back(&program.config());
  groups.push_back(std::move(general));
  std::erase_if(groups, [](const OptionGroup& group) { return group.options.empty(); });
  return groups;
}

std::string synopsis(const Command& command) {
  std::string text = command.name();
  for (const auto& option : command.options()) {
    if (!option->is_positional()) continue;
    text += option->is_required() ? to_text(" ", placeholder_of(*option))
                                  : to_text(" [", placeholder_of(*option), "]");
  }
  for (const auto& option : command.options()) {
    if (option->is_positional() || !option->is_required()) continue;
    text += to_text(" ", option->name(), " ", option->placeholder());
  }
  return text + " [options]";
}

}  // namespace qtool::tool
