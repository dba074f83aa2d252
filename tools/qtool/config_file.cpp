#include "config_file.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_kind.h"
#include "base/text.h"
#include "command.h"

namespace qtool::tool {
namespace {

bool knows(const CLI::App& command, const std::string& key) {
  const CLI::Option* option = command.get_option_no_throw("--" + key);
  if (option == nullptr) option = command.get_option_no_throw(key);
  return option != nullptr && option->get_configurable();
}

std::vector<std::string> keys_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> keys;
  for (const CLI::App* command : commands) {
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_configurable()) continue;
      keys.insert(keys.end(), option->get_lnames().begin(), option->get_lnames().end());
      if (option->get_lnames().empty()) keys.push_back(option->get_single_name());
    }
  }
  return keys;
}

[[noreturn]] void refuse(std::string_view what, const std::string& name,
                         std::vector<std::string> candidates) {
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  throw CLI::ConfigError(
      concat("config file: unknown ", what, " '", name, "'", nearest_text(name, candidates)),
      CLI::ExitCodes::ConfigError);
}

bool every_command(const CLI::App* /*command*/) { return true; }

const CLI::App& find_command(const std::vector<const CLI::App*>& commands,
                             const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) {
    if (command->get_name() == name) return *command;
    names.push_back(command->get_name());
  }
  refuse("section", name, names);
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  const std::string text(std::istreambuf_iterator<char>(input), {});
  const std::string_view found = recognise_foreign_file(text);
  if (!found.empty()) {
    throw CLI::ConfigError(concat("config file: ", found, ", expected TOML or INI"),
                           CLI::ExitCodes::ConfigError);
  }
  std::istringstream lines{std::string(without_byte_order_mark(text))};
  const std::vector<const CLI::App*> commands = std::as_const(app_).get_subcommands(every_command);
  std::vector<CLI::ConfigItem> own;     // from the running command's section
  std::vector<CLI::ConfigItem> shared;  // from before any section
  for (CLI::ConfigItem& item : ConfigBase::from_config(lines)) {
    if (item.name == "++" || item.name == "--") continue;  // section marks carry no value
    if (!item.parents.empty()) {
      const CLI::App& command = find_command(commands, item.parents.front());
      if (!knows(command, item.name)) {
        refuse(concat("key in [", command.get_name(), "]"), item.name, keys_of({&command}));
      }
      if (command.parsed()) own.push_back(std::move(item));
      continue;
    }
    if (std::none_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return knows(*command, item.name); })) {
      refuse("key", item.name, keys_of(commands));
    }
    for (CLI::App* command : app_.get_subcommands()) {
      if (!knows(*command, item.name)) continue;
      // Where the command line has the option too, the value is not the file's.
      const std::string name = concat("--", item.name);
      const CLI::Option* option = command->get_option_no_throw(name);
      if (option != nullptr && option->count() == 0) {
        static_cast<Command*>(command)->note_shared(name);
      }
      item.parents = {command->get_name()};
      shared.push_back(item);
    }
  }
  // CLI11 keeps the first value it finds, so the section, which is more specific, comes first.
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

}  // namespace qtool::tool
