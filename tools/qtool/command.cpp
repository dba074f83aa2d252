#include "command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

std::string text_of(const std::vector<Company>& company) {
  std::vector<std::string> parts;
  for (const Company& one : company) {
    parts.push_back(one.values.empty() ? one.option
                                       : concat(one.option, " ", alternatives(one.values)));
  }
  return alternatives(parts);
}

std::string_view text_of(Trait trait) {
  switch (trait) {
    case Trait::kClassScores:
      return "a network with one score per class";
    case Trait::kClasses:
      return "a network with one score per class, --boxes or --mask";
    case Trait::kImageClasses:
      return "images with classes";
    case Trait::kRequantization:
      return "a model of integers with fixed scales";
    case Trait::kWeights:
      return "a network with weights";
    case Trait::kWinograd:
      return "a network with convolutions of 3x3, stride 1, without groups";
    case Trait::kLayerNames:
      return "a table whose format names layers";
  }
  return "";
}

/// The value an option has, given or by default; empty when it has none.
std::string value_of(const CLI::Option& option) {
  return option.count() > 0 ? option.results().back() : option.get_default_str();
}

}  // namespace

Command::Command(const std::string& summary, const std::string& name,
                 std::vector<std::string> examples)
    : CLI::App(summary, name), examples_(std::move(examples)) {}

void Command::goes_with(const std::string& option, std::vector<Company> company) {
  rules_.push_back({option, Effect::kOnlyWith, std::move(company)});
}

void Command::not_with(const std::string& option, std::vector<Company> company) {
  rules_.push_back({option, Effect::kNotWith, std::move(company)});
}

void Command::goes_with_files(const std::string& option, Trait trait) {
  file_rules_.push_back({option, trait});
}

void Command::offer(const CLI::Option* option, std::vector<std::string> words) {
  words_[option] = std::move(words);
}

// Values that a configuration file gives to all commands are not counted.
bool Command::given(const std::string& option) const {
  return get_option(option)->count() > 0 && !shared_.contains(option);
}

bool Command::there(const Company& company) const {
  const CLI::Option& other = *get_option(company.option);
  if (company.values.empty()) return other.count() > 0;
  const std::string value = value_of(other);
  return std::find(company.values.begin(), company.values.end(), value) != company.values.end();
}

// Why the option of a rule would be ignored; empty when it is not.
std::string Command::broken(const Rule& rule) const {
  const auto met = std::find_if(rule.company.begin(), rule.company.end(),
                                [&](const Company& company) { return there(company); });
  if ((met != rule.company.end()) == (rule.effect == Effect::kOnlyWith)) return {};
  const Company& named = met != rule.company.end() ? *met : rule.company.front();
  const std::string value = value_of(*get_option(named.option));
  if (rule.effect == Effect::kNotWith || (!named.values.empty() && !value.empty())) {
    std::string text = concat(rule.option, " has no effect with ", named.option,
                              named.values.empty() ? "" : concat(" ", value));
    if (rule.effect == Effect::kOnlyWith) text += concat("; it goes with ", text_of(rule.company));
    return text;
  }
  return concat(rule.option, " has no effect without ", text_of(rule.company));
}

void Command::require_effect() const {
  for (const Rule& rule : rules_) {
    if (!given(rule.option)) continue;
    const std::string problem = broken(rule);
    if (!problem.empty()) throw Error(ErrorCode::kUsage, problem);
  }
}

void Command::found(Trait trait, const std::string& files,
                    const std::function<bool()>& holds) const {
  const auto rule = std::find_if(file_rules_.begin(), file_rules_.end(), [&](const FileRule& one) {
    return one.trait == trait && given(one.option);
  });
  if (rule == file_rules_.end() || holds()) return;
  throw Error(ErrorCode::kUsage, concat(rule->option, " has no effect with ", files,
                                        "; it goes with ", text_of(trait)));
}

std::vector<const CLI::Option*> Command::first_options() const {
  std::vector<const CLI::Option*> options;
  for (const std::string& name : first_) options.push_back(get_option(name));
  return options;
}

std::string Command::company_text(const CLI::Option& option) const {
  std::string text;
  for (const Rule& rule : rules_) {
    if (get_option(rule.option) != &option) continue;
    text += concat(text.empty() ? "" : " ",
                   rule.effect == Effect::kOnlyWith ? "Goes with " : "Not with ",
                   text_of(rule.company), ".");
  }
  for (const FileRule& rule : file_rules_) {
    if (get_option(rule.option) != &option) continue;
    text += concat(text.empty() ? "" : " ", "Goes with ", text_of(rule.trait), ".");
  }
  return text;
}

std::vector<std::string> Command::words_of(const CLI::Option& option) const {
  const auto found = words_.find(&option);
  return found == words_.end() ? std::vector<std::string>() : found->second;
}

Command* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                     std::vector<std::string> examples) {
  auto command = std::make_shared<Command>(summary, name, std::move(examples));
  command->formatter(app.get_formatter());
  command->set_help_flag("-h,--help", "Show the common options")->group("General");
  command->set_help_all_flag("--help-all", "Show every option")->group("General");
  command->allow_config_extras(CLI::config_extras_mode::error);
  command->fallthrough();
  app.add_subcommand(command);
  return command.get();
}

}  // namespace qtool::tool
