#include "cli/config_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/did_you_mean.h"
#include "base/file_kind.h"
#include "base/text.h"

namespace qtool::tool {
namespace {

bool knows(const Command& command, const std::string& key) {
  const Option* option = command.find_or_null("--" + key);
  if (option == nullptr) option = command.find_or_null(key);
  return option != nullptr && option->is_configurable();
}

void add_keys(const Command& command, std::vector<std::string>& keys) {
  for (const auto& option : command.options()) {
    if (!option->is_configurable()) continue;
    const std::vector<std::string>& names = option->long_names();
    keys.insert(keys.end(), names.begin(), names.end());
    if (names.empty()) keys.push_back(option->name());
  }
}

[[noreturn]] void refuse_key(std::string_view what, const std::string& name,
                             std::vector<std::string> candidates) {
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  throw CommandLineError(
      to_text("config file: unknown ", what, " '", name, "'", did_you_mean(name, candidates)));
}

const Command& command_of_section(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : program.commands()) {
    if (command->name() == name) return *command;
    names.push_back(command->name());
  }
  refuse_key("section", name, names);
}

void require_known(const Program& program, const std::string& key) {
  std::vector<std::string> keys;
  for (const auto& command : program.commands()) {
    if (knows(*command, key)) return;
    add_keys(*command, keys);
  }
  refuse_key("key", key, keys);
}

void require_known(const Command& command, const std::string& key) {
  if (knows(command, key)) return;
  std::vector<std::string> keys;
  add_keys(command, keys);
  refuse_key(to_text("key in [", command.name(), "]"), key, keys);
}

}  // namespace

std::string config_text(std::string_view bytes) {
  const std::string_view found = recognise_foreign_file(bytes);
  if (!found.empty()) {
    throw CommandLineError(to_text("config file: ", found, ", expected TOML or INI"));
  }
  return std::string(without_byte_order_mark(bytes));
}

std::vector<ConfigEntry> entries_for(Command* given, const Program& program,
                                     std::vector<ConfigEntry> entries) {
  std::vector<ConfigEntry> own;     // from the given command's section
  std::vector<ConfigEntry> shared;  // from before the first section
  for (ConfigEntry& entry : entries) {
    if (!entry.sections.empty()) {
      const Command& command = command_of_section(program, entry.sections.front());
      require_known(command, entry.key);
      if (&command == given) own.push_back(std::move(entry));
      continue;
    }
    require_known(program, entry.key);
    if (given == nullptr || !knows(*given, entry.key)) continue;
    // If the command line gives the option too, the value does not come from the file.
    const std::string name = to_text("--", entry.key);
    const Option* option = given->find_or_null(name);
    if (option != nullptr && !option->given()) given->note_shared(name);
    entry.sections = {given->name()};
    shared.push_back(std::move(entry));
  }
  // The first value of a key counts, so the section, which is more specific, comes first.
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

}  // namespace qtool::tool
