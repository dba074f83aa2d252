#include "options/accuracy.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/choices.h"
#include "base/text.h"
#include "cli/value_checks.h"
#include "console.h"
#include "qtool/base/error.h"
#include "qtool/pipeline/make_model.h"

namespace qtool::tool {
namespace {

std::vector<std::string> roundings_on_samples() {
  std::vector<std::string> names;
  for (const RoundingInfo& row : roundings()) {
    if (row.needs != RoundingNeeds::kNothing) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> efforts_that_judge() {
  std::vector<std::string> names;
  for (const EffortInfo& row : efforts()) {
    if (row.judges) names.emplace_back(row.name);
  }
  return names;
}

// A learning step with the option that asks for it, and the values that do; none for a flag.
struct StepOption {
  std::string_view step;
  Company asked_by;
};

const std::vector<StepOption>& step_options() {
  static const std::vector<StepOption> all = {
      {"judge_choices", {"--effort", efforts_that_judge()}},
      {"tune_ranges", {"--tune-ranges", {}}},
      {"round_weights", {"--weight-rounding", roundings_on_samples()}},
      {"correct_biases", {"--bias-correction", {"sequential"}}}};
  return all;
}

const Company& asked_by(std::string_view step) {
  const auto found = std::ranges::find(step_options(), step, &StepOption::step);
  QTOOL_CHECK(found != step_options().end());
  return found->asked_by;
}

bool learns(const Recipe& recipe, std::string_view step) {
  return std::ranges::any_of(learning_steps(recipe),
                             [&](const RecipeStep& row) { return row.name == step; });
}

Recipe of_effort(const EffortInfo& effort) {
  Recipe recipe;
  recipe.effort = effort.effort;
  return recipe;
}

// The options that an effort stands for: `--equalize table --weight-rounding gptq`.
std::string options_of(const EffortInfo& effort) {
  return to_text(
      effort.equalizes ? "--equalize table " : "", "--weight-rounding ", effort.rounding,
      effort.judges ? " --bias-correction sequential, each if images held back gain" : "",
      effort.tunes_ranges ? " --tune-ranges" : "", effort.has_budget ? " within --budget" : "");
}

// Adds an option whose value is one of `words`.
void word(Command& command, const char* name, std::string& value, const std::string& help,
          std::vector<std::string> words) {
  command.option(name, value, help).placeholder("HOW").show_default().one_of(std::move(words));
}

void add_weight_rounding(Command& command, std::string& value) {
  auto [names, help] = names_and_help(roundings());
  word(command, "--weight-rounding", value, to_text("How weights become integers\n", help, "."),
       std::move(names));
}

double seconds_of(const LearnReport& report, std::string_view step) {
  for (const LearnReport::Took& took : report.took) {
    if (took.step == step) return took.seconds;
  }
  return 0.0;
}

}  // namespace

void add_effort(Command& command, std::string& effort, Efforts offered) {
  std::vector<std::string> names;
  std::string help;
  for (const EffortInfo& row : efforts()) {
    if (row.has_budget && offered == Efforts::kWithoutBudget) continue;
    const bool runs = !learning_steps(of_effort(row)).empty();
    if (!runs) {
      help += to_text(row.name, " needs the table alone; ");
    } else if (names.size() < 2) {
      help += to_text(row.name, " also runs --images: it stands for ", options_of(row));
    } else {
      help += to_text("; ", row.name, " for ", options_of(row));
    }
    names.emplace_back(row.name);
  }
  const std::string_view wins = names.size() > 2 ? ". Of these one that is given wins."
                                                 : ", of which one that is given wins.";
  word(command, "--effort", effort, to_text("How much to do for accuracy\n", help, wins),
       std::move(names));
}

void RewriteOptions::add_to(Command& command, const std::string& fallback) {
  command
      .option("--equalize", equalize_,
              to_text("Bring channels to a common range first (default: ", fallback,
                      ")\n"
                      "off, or table: by what the table knows of each channel. What one "
                      "layer divides its channels by, the next ones multiply them by."))
      .placeholder("HOW")
      .one_of({"off", "table"});
}

std::optional<std::vector<std::string>> RewriteOptions::names() const {
  if (equalize_.empty()) return std::nullopt;
  std::vector<std::string> names;
  if (equalize_ == "table") names.emplace_back("equalize");
  return names;
}

void AccuracyOptions::add_to(Command& command, AccuracyUse use) {
  const bool quantizes = use == AccuracyUse::kQuantize;
  std::vector<std::string> with_images;
  std::vector<std::string> with_budget;
  for (const EffortInfo& row : efforts()) {
    if (row.has_budget && !quantizes) continue;
    if (row.has_budget) with_budget.emplace_back(row.name);
    if (!learning_steps(of_effort(row)).empty()) with_images.emplace_back(row.name);
  }
  const Company by_effort = {"--effort", with_images};
  const Company& by_rounding = asked_by("round_weights");
  add_effort(command, effort_, quantizes ? Efforts::kAll : Efforts::kWithoutBudget);
  if (quantizes) {
    command
        .option("--budget", budget_,
                to_text("Time for --effort ", with_budget.front(),
                        ": 90s, 5m, 1h\n"
                        "Half of it at most goes to the ranges. Layers for which none is left are "
                        "rounded by gptq."))
        .placeholder("TIME")
        .check(time_span())
        .show_default();
    command.goes_with("--budget", {{"--effort", with_budget}});
    resume_.add_to(command);
    command.goes_with("--resume", {by_effort, by_rounding});
    has_bias_correction_ = true;
    word(command, "--bias-correction", bias_correction_,
         "Take back what quantizing adds to mean outputs\n"
         "table takes back what the weights add, from the table's channel means, in every mode "
         "that has a table; sequential what reaches the layer too, measured layer by layer on "
         "--images.",
         {"off", "table", "sequential"});
  }
  command.flag("--tune-ranges", tune_ranges_,
               "Make ranges narrower or wider by what that does to the outputs\n"
               "Half of --images tune, the other half judge. Only for images like those that the "
               "network will meet.");
  add_weight_rounding(command, weight_rounding_);
  command
      .option(
          "--rounding-memory", rounding_memory_,
          "Mebibytes for what --weight-rounding learns about the layers' inputs\n"
          "Layers that need more are rounded to nearest. With adaround, fewer also mean that the "
          "images are run more often.")
      .placeholder("MIB")
      .check(whole_number(1, 1 << 20))
      .show_default();
  command.goes_with("--rounding-memory", {by_effort, by_rounding});
  if (!quantizes) return;
  for (const char* option : {"--images", "--inputs"}) {
    std::vector<Company> company = {by_effort, {"--verify", {}}, {"--faster-only", {}}};
    for (const StepOption& row : step_options()) {
      if (row.asked_by.option != by_effort.option) company.push_back(row.asked_by);
    }
    command.goes_with(option, std::move(company));
  }
}

void AccuracyOptions::apply(const Command& command, bool has_samples, Recipe& recipe) const {
  recipe.effort = find_effort(effort_).effort;
  recipe.tune_ranges = tune_ranges_;
  if (command.given("--weight-rounding")) recipe.rounding = weight_rounding_;
  if (has_bias_correction_ && command.given("--bias-correction")) {
    recipe.bias_correction = bias_correction_ == "sequential" ? BiasCorrection::kSequential
                             : bias_correction_ == "off"      ? BiasCorrection::kOff
                                                              : BiasCorrection::kTable;
  }
  recipe.rounding_memory = rounding_memory_ << 20;
  recipe.budget_seconds = seconds_of_time(budget_);
  // The rules of the options accept these options beside --effort, even if --weight-rounding
  // nearest is given. So the case is refused here. The --resume of search is exempt, because it
  // keeps more than rounded weights.
  for (const char* option : {"--rounding-memory", "--resume"}) {
    if (learns(recipe, "round_weights") || !command.given(option)) continue;
    if (option == std::string_view("--resume") && !resume_.given()) continue;
    throw Error(ErrorCode::kUsage,
                to_text(option, " has no effect with --weight-rounding ",
                        resolved(recipe).rounding.value(), "; it goes with --weight-rounding ",
                        alternatives(asked_by("round_weights").values)));
  }
  resume_.declare();
  if (has_samples) return;
  for (const RecipeStep& step : learning_steps(recipe)) {
    const std::string& option = asked_by(step.name).option;
    const Option& given = command.find(option);
    std::string asked = to_text("--effort ", effort_);
    if (command.given(option)) {
      asked = given.is_flag() ? option : to_text(option, " ", given.value());
    }
    throw Error(ErrorCode::kUsage, to_text(asked, " needs --images or --inputs"));
  }
}

void AccuracyOptions::resume(MakeOptions& options) {
  if (!resume_.given()) return;
  options.resume = [this](std::uint64_t key) {
    results_ = resume_.open(key);
    return results_.get();
  };
}

void AccuracyOptions::print(const Recipe& recipe, const LearnReport& report) const {
  if (learning_steps(recipe).empty() || !info_of(recipe.effort).has_budget) return;
  note(to_text("--effort ", effort_, ": ", to_fixed(seconds_of(report, "tune_ranges"), 1),
               " s for the ranges, ", to_fixed(seconds_of(report, "round_weights"), 1),
               " s for the weights, of ", budget_));
}

void AccuracyOptions::finish() {
  if (results_ != nullptr) results_->remove();
}

}  // namespace qtool::tool
