// The only file that includes CLI11, which is slow to compile. It declares the commands and options
// to CLI11 and takes the values that CLI11 finds on the command line.
#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "cli/config_file.h"
#include "cli/program.h"
#include "cli/usage_errors.h"

namespace qtool::tool {
namespace {

/// The validator has no description, because CLI11 would print it beside the type of the value.
CLI::Validator validator(const Check& check) { return {check, ""}; }

// Reports a wrong value of a flag, as in --json=maybe, like wrong values of other options.
std::string check_flag(const std::string& value) {
  const bool known = value == "true" || value == "false";
  return known ? std::string() : to_text("found '", value, "', expected true or false");
}

/// Refuses an empty word for every option, because it is not a file, a number or a name.
Check refuse_empty(const Option& option) {
  return [check = option.check(), expected = option.placeholder()](std::string& value) {
    if (value.empty()) return to_text("found '', expected ", expected);
    return check ? check(value) : std::string();
  };
}

/// Declares an option that the program itself handles. CLI11 has a function for each of them.
CLI::Option* declare_own(const Option& option, CLI::App& app) {
  if (option.name() == "--help") return app.set_help_flag(option.names());
  if (option.name() == "--help-all") return app.set_help_all_flag(option.names());
  if (option.name() == "--version") return app.set_version_flag(option.names());
  return app.set_config(option.names());
}

CLI::Option* declare(const Option& option, CLI::App& app) {
  const auto declare_variable = [&](auto variable) -> CLI::Option* {
    using Target = decltype(variable);
    if constexpr (std::is_same_v<Target, std::nullptr_t>) {
      return declare_own(option, app);
    } else if constexpr (std::is_same_v<Target, bool*>) {
      return app.add_flag(option.names(), *variable, "")->transform(validator(check_flag));
    } else {
      return app.add_option(option.names(), *variable, "");
    }
  };
  CLI::Option* declared = std::visit(declare_variable, option.variable());
  if (!option.placeholder().empty()) declared->type_name(option.placeholder());
  if (option.is_required()) declared->required();
  if (!option.is_flag()) declared->transform(validator(refuse_empty(option)));
  if (option.takes_one_value_each()) declared->allow_extra_args(false);
  return declared;
}

/// The program and its commands, declared to CLI11.
class CommandLineReader {
 public:
  explicit CommandLineReader(const Program& program);

  /// Throws CLI::ParseError, also when a help page or the version is asked for.
  void read(const std::vector<std::string>& words);
  /// Stores the values that were found so far in the options of the program.
  void hand_over() const;
  /// Makes Option::set() possible. Call when everything is read. The options keep `reader` alive.
  static void allow_setting(const std::shared_ptr<CommandLineReader>& reader);

  [[nodiscard]] Command* given() const;
  [[nodiscard]] std::string usage_text(const CLI::ParseError& problem) const;
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  struct OptionPair {
    Option* ours;
    CLI::Option* declared;
  };
  void add(Option& option, CLI::App& app) { options_.push_back({&option, declare(option, app)}); }

  const Program& program_;
  CLI::App app_;
  std::vector<OptionPair> options_;
};

/// Reads `--config` files. entries_for() selects the entries that apply.
class ConfigReader : public CLI::ConfigBase {
 public:
  explicit ConfigReader(const CommandLineReader& line) : line_(line) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  [[nodiscard]] std::vector<ConfigEntry> entries(const std::string& bytes) const;

  const CommandLineReader& line_;
};

std::vector<ConfigEntry> ConfigReader::entries(const std::string& bytes) const {
  std::istringstream lines(config_text(bytes));
  std::vector<ConfigEntry> entries;
  for (CLI::ConfigItem& item : ConfigBase::from_config(lines)) {
    if (item.name == "++" || item.name == "--") continue;  // section marks carry no value
    entries.push_back({std::move(item.parents), std::move(item.name), std::move(item.inputs)});
  }
  line_.hand_over();
  return entries_for(line_.given(), line_.program(), std::move(entries));
}

std::vector<CLI::ConfigItem> ConfigReader::from_config(std::istream& input) const {
  std::vector<CLI::ConfigItem> kept;
  try {
    for (ConfigEntry& entry : entries(std::string(std::istreambuf_iterator<char>(input), {}))) {
      kept.push_back({std::move(entry.sections), std::move(entry.key), std::move(entry.values)});
    }
  } catch (const CommandLineError& problem) {
    throw CLI::ConfigError(problem.what(), CLI::ExitCodes::ConfigError);
  }
  return kept;
}

// CLI11 looks up options that a command does not know among the program's own options, so
// `--config` is accepted before and after the name of the command.
CommandLineReader::CommandLineReader(const Program& program)
    : program_(program), app_("", "qtool") {
  for (const auto& option : program.options()) add(*option, app_);
  app_.config_formatter(std::make_shared<ConfigReader>(*this));
  app_.allow_config_extras(CLI::config_extras_mode::error);
  app_.require_subcommand(0, 1);
  for (const auto& command : program.commands()) {
    const auto declared = std::make_shared<CLI::App>("", command->name());
    for (const auto& option : command->options()) add(*option, *declared);
    declared->allow_config_extras(CLI::config_extras_mode::error);
    declared->fallthrough();
    app_.add_subcommand(declared);
  }
}

void CommandLineReader::read(const std::vector<std::string>& words) {
  app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // in CLI11's reverse order
}

void CommandLineReader::hand_over() const {
  for (const OptionPair& option : options_) option.ours->take_values(option.declared->results());
}

void CommandLineReader::allow_setting(const std::shared_ptr<CommandLineReader>& reader) {
  for (const OptionPair& option : reader->options_) {
    option.ours->take_setter([reader, option](const std::vector<std::string>& values) {
      for (const std::string& value : values) option.declared->add_result(value);
      try {
        option.declared->run_callback();
      } catch (const CLI::ParseError& problem) {
        throw CommandLineError(problem.what());
      }
      option.ours->take_values(option.declared->results());
    });
  }
}

Command* CommandLineReader::given() const {
  const std::vector<CLI::App*> parsed = app_.get_subcommands();
  if (parsed.empty()) return nullptr;
  for (const auto& command : program_.commands()) {
    if (command->name() == parsed.front()->get_name()) return command.get();
  }
  return nullptr;
}

std::string CommandLineReader::usage_text(const CLI::ParseError& problem) const {
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr) {
    return unknown_word_text(program_, given(), app_.remaining(true).front());
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
    return wrong_count_text(program_, given(), problem.what());
  }
  return problem.what();
}

}  // namespace

Request Program::parse(const std::vector<std::string>& words) {
  const auto reader = std::make_shared<CommandLineReader>(*this);
  const auto hand_over = [&] {
    reader->hand_over();
    given_ = reader->given();
  };
  try {
    reader->read(words);
  } catch (const CLI::CallForHelp&) {
    hand_over();
    return Request::kHelp;
  } catch (const CLI::CallForAllHelp&) {
    hand_over();
    return Request::kAllHelp;
  } catch (const CLI::CallForVersion&) {
    return Request::kVersion;
  } catch (const CLI::ParseError& problem) {
    hand_over();
    throw CommandLineError(reader->usage_text(problem));
  }
  hand_over();
  CommandLineReader::allow_setting(reader);
  if (given_ != nullptr) given_->act();
  return Request::kRun;
}

}  // namespace qtool::tool
