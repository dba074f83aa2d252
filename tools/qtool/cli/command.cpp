#include "cli/command.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/text.h"

namespace qtool::tool {

Command::Command(std::string name, std::string summary, std::vector<std::string> examples)
    : name_(std::move(name)), summary_(std::move(summary)), examples_(std::move(examples)) {
  add("-h,--help", nullptr, "Show the common options").group(kGeneralGroup);
  add("--help-all", nullptr, "Show every option").group(kGeneralGroup);
}

Option& Command::add(std::string names, Variable variable, std::string text) {
  options_.push_back(std::make_unique<Option>(std::move(names), variable, std::move(text)));
  return *options_.back();
}

Option& Command::flag(std::string names, bool& variable, std::string text) {
  return add(std::move(names), &variable, std::move(text));
}

void Command::remove(const std::string& option) {
  std::erase_if(options_, [&](const auto& known) { return known->has_name(option); });
}

void Command::act() const {
  if (action_) action_();
}

Option* Command::look_up(const std::string& name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const auto& option) { return option->has_name(name); });
  return found == options_.end() ? nullptr : found->get();
}

Option& Command::require(const std::string& name) const {
  Option* option = look_up(name);
  if (option == nullptr) throw std::logic_error(to_text(name_, " has no option ", name));
  return *option;
}

std::vector<const Option*> Command::first_options() const {
  std::vector<const Option*> options;
  for (const std::string& name : first_) options.push_back(&find(name));
  return options;
}

}  // namespace qtool::tool
