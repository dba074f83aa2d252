// Which options of a command go with which others, and with which files: the rules, their checks,
// and their texts for help pages.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/command.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

std::string text_of(const std::vector<Company>& company) {
  std::vector<std::string> parts;
  for (const Company& one : company) {
    parts.push_back(one.values.empty() ? one.option
                                       : to_text(one.option, " ", alternatives(one.values)));
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

}  // namespace

void Command::goes_with(const std::string& option, std::vector<Company> company) {
  rules_.push_back({option, Effect::kOnlyWith, std::move(company)});
}

void Command::not_with(const std::string& option, std::vector<Company> company) {
  rules_.push_back({option, Effect::kNotWith, std::move(company)});
}

void Command::goes_with_files(const std::string& option, Trait trait) {
  file_rules_.push_back({option, trait});
}

// Whether an option is given for this command. A value that a configuration file gives to all
// commands does not count.
bool Command::meant(const std::string& option) const {
  return given(option) && !shared_.contains(option);
}

bool Command::there(const Company& company) const {
  const Option& other = find(company.option);
  if (company.values.empty()) return other.given();
  const std::string& value = other.value();
  return std::find(company.values.begin(), company.values.end(), value) != company.values.end();
}

// Why the option of a rule has no effect; empty if the rule is kept.
std::string Command::broken(const Rule& rule) const {
  const auto met = std::find_if(rule.company.begin(), rule.company.end(),
                                [&](const Company& company) { return there(company); });
  if ((met != rule.company.end()) == (rule.effect == Effect::kOnlyWith)) return {};
  const Company& named = met != rule.company.end() ? *met : rule.company.front();
  const std::string& value = find(named.option).value();
  if (rule.effect == Effect::kNotWith || (!named.values.empty() && !value.empty())) {
    std::string text = to_text(rule.option, " has no effect with ", named.option,
                               named.values.empty() ? "" : to_text(" ", value));
    if (rule.effect == Effect::kOnlyWith) text += to_text("; it goes with ", text_of(rule.company));
    return text;
  }
  return to_text(rule.option, " has no effect without ", text_of(rule.company));
}

void Command::require_effect() const {
  for (const Rule& rule : rules_) {
    if (!meant(rule.option)) continue;
    const std::string problem = broken(rule);
    if (!problem.empty()) throw Error(ErrorCode::kUsage, problem);
  }
}

void Command::found(Trait trait, const std::string& files,
                    const std::function<bool()>& holds) const {
  const auto rule = std::find_if(file_rules_.begin(), file_rules_.end(), [&](const FileRule& one) {
    return one.trait == trait && meant(one.option);
  });
  if (rule == file_rules_.end() || holds()) return;
  throw Error(ErrorCode::kUsage, to_text(rule->option, " has no effect with ", files,
                                         "; it goes with ", text_of(trait)));
}

std::string Command::company_text(const Option& option) const {
  std::string text;
  for (const Rule& rule : rules_) {
    if (&find(rule.option) != &option) continue;
    text += to_text(text.empty() ? "" : " ",
                    rule.effect == Effect::kOnlyWith ? "Goes with " : "Not with ",
                    text_of(rule.company), ".");
  }
  for (const FileRule& rule : file_rules_) {
    if (&find(rule.option) != &option) continue;
    text += to_text(text.empty() ? "" : " ", "Goes with ", text_of(rule.trait), ".");
  }
  return text;
}

}  // namespace qtool::tool
