#include "search/goal_checks.h"

#include <cmath>
#include <string_view>

#include "base/text.h"
#include "compare/model_pair.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

void refuse_value(std::string_view what, double found, std::string_view expected) {
  throw Error(ErrorCode::kUsage, to_text(what, ": found ", found, ", expected ", expected));
}

void check_goal(const SearchGoal& goal) {
  const bool percent = goal.kind != SearchGoal::Kind::kSqnr;
  if (!std::isfinite(goal.value) || (percent && (goal.value < 0.0 || goal.value > 100.0))) {
    refuse_value("goal", goal.value, percent ? "0 to 100 percent" : "decibels");
  }
  if (!(goal.most_added >= 0.0)) {
    refuse_value("goal", goal.most_added, "0 percent or more of boxes added");
  }
  if (!(goal.confidence >= 0.5 && goal.confidence < 1.0)) {
    refuse_value("confidence", goal.confidence, "0.5 to below 1");
  }
}

void require_meaning(const SearchGoal& goal, const AnswerOptions& answers, const TrialScore& int8) {
  if (goal.kind == SearchGoal::Kind::kSqnr) return;
  if (goal.kind == SearchGoal::Kind::kBoxes && !answers.boxes) {
    throw Error(ErrorCode::kUsage, "a goal of boxes needs a detector that reads them");
  }
  if (!int8.agreement && answers.boxes) {
    throw Error(ErrorCode::kUnsupported,
                "neither model finds a box on the images: an agreement has no meaning");
  }
  if (!int8.agreement) {
    throw Error(ErrorCode::kUnsupported,
                "the first output is not one score per class, and nothing says what it is: only "
                "a goal of SQNR has a meaning");
  }
  if (goal.kind != SearchGoal::Kind::kTop1Drop) return;
  if (answers.boxes || answers.mask) {
    throw Error(ErrorCode::kUsage,
                "a goal of top-1 accuracy needs scores per class, not boxes or masks");
  }
  if (int8.labelled == 0) {
    throw Error(ErrorCode::kUsage, "a goal of top-1 accuracy needs images with labels");
  }
}

}  // namespace

void check_options(const SearchOptions& options) {
  if (options.goals.empty()) throw Error(ErrorCode::kUsage, "found no goal, expected one or more");
  for (const SearchGoal& goal : options.goals) check_goal(goal);
  if (!(options.budget_seconds > 0.0) || !std::isfinite(options.budget_seconds)) {
    refuse_value("budget", options.budget_seconds, "seconds above 0");
  }
  if (!(options.least_integer_share >= 0.0 && options.least_integer_share <= 1.0)) {
    refuse_value("share of the multiplications on integers", options.least_integer_share, "0 to 1");
  }
  if (options.max_latency_cost && !(*options.max_latency_cost >= 0.0)) {
    refuse_value("share of the time", *options.max_latency_cost, "0 or more");
  }
  check_repeat(options.repeat);
}

void require_meaning(const SearchOptions& options, const Trial& int8) {
  if (!int8.noise) {
    throw Error(ErrorCode::kUnsupported, "nothing of the model is on integers");
  }
  for (const SearchGoal& goal : options.goals) require_meaning(goal, options.answers, int8.score);
}

}  // namespace qtool
