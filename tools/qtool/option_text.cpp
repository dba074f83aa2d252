#include "option_text.h"

#include <algorithm>

#include "base/choices.h"
#include "base/text.h"

namespace qtool::tool {
namespace {

constexpr const char* kMain = "Options";     // CLI11's name for options without a group
constexpr const char* kGeneral = "General";  // what every command has: last

std::string placeholder(const CLI::Option& option) {
  return option.get_expected_max() > 1 ? concat(option.get_type_name(), "...")
                                       : option.get_type_name();
}

bool takes_value(const CLI::Option& option) { return option.get_type_size() > 0; }

std::string joined(std::string text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += ' ';
  return text + more;
}

}  // namespace

OptionText describe(const Command& command, const CLI::Option& option) {
  OptionText text;
  if (option.get_positional()) {
    text.names = {placeholder(option)};
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    if (takes_value(option)) text.value = option.get_type_name();
  }
  const std::string description = option.get_description();
  const std::size_t end = description.find('\n');
  text.summary = description.substr(0, end);
  if (option.get_required() && !option.get_positional()) text.summary += " (required)";
  const std::string value = takes_value(option) ? option.get_default_str() : "";
  if (!value.empty()) text.summary += concat(" (default: ", value, ")");
  if (end != std::string::npos) text.details = description.substr(end + 1);
  const std::vector<std::string> words = command.words_of(option);
  if (!words.empty()) {
    text.details = joined(text.details, concat("One of ", alternatives(words), "."));
  }
  if (option.get_expected_max() > 1 && !option.get_positional()) {
    text.details = joined(text.details, "May be given several times.");
  }
  text.details = joined(text.details, command.company_text(option));
  return text;
}

std::vector<OptionGroup> groups_of(const Command& command) {
  std::vector<OptionGroup> groups = {{"Arguments", {}}, {kMain, {}}};
  OptionGroup general = {kGeneral, {}};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_positional() ? "Arguments" : option->get_group();
    if (name.empty()) continue;
    if (name == kGeneral) {
      general.options.push_back(option);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const OptionGroup& known) { return known.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->options.push_back(option);
  }
  general.options.push_back(command.get_parent()->get_config_ptr());
  groups.push_back(std::move(general));
  std::erase_if(groups, [](const OptionGroup& group) { return group.options.empty(); });
  return groups;
}

std::string synopsis(const Command& command) {
  std::string text = command.get_name();
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    text += option->get_required() ? concat(" ", placeholder(*option))
                                   : concat(" [", placeholder(*option), "]");
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || !option->get_required()) continue;
    text += concat(" ", option->get_name(), " ", option->get_type_name());
  }
  return text + " [options]";
}

std::vector<const Command*> commands_of(const CLI::App& program) {
  std::vector<const Command*> commands;
  for (const CLI::App* app : program.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(static_cast<const Command*>(app));
  }
  return commands;
}

}  // namespace qtool::tool
