#include "measure/search_tried.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "measure/model_pair.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

double percent(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

double worst_db(const TrialScore& score) {
  return score.sqnr_db.empty() ? 0.0 : *std::ranges::min_element(score.sqnr_db);
}

}  // namespace

void check_options(const SearchOptions& options) {
  const auto refuse = [](std::string_view what, double found, std::string_view expected) {
    throw Error(ErrorCode::kUsage, concat(what, ": found ", found, ", expected ", expected));
  };
  const double value = options.goal.value;
  const bool percent = options.goal.kind != SearchGoal::Kind::kSqnr;
  if (!std::isfinite(value) || (percent && (value < 0.0 || value > 100.0))) {
    refuse("goal", value, percent ? "0 to 100 percent" : "decibels");
  }
  if (!(options.budget_seconds > 0.0) || !std::isfinite(options.budget_seconds)) {
    refuse("budget", options.budget_seconds, "seconds above 0");
  }
  if (!(options.least_integer_share >= 0.0 && options.least_integer_share <= 1.0)) {
    refuse("share of the multiplications on integers", options.least_integer_share, "0 to 1");
  }
  if (options.most_slower && !(*options.most_slower >= 0.0)) {
    refuse("share of the time", *options.most_slower, "0 or more");
  }
  check_repeat(options.repeat);
}

void require_meaning(const SearchOptions& options, const Trial& int8) {
  if (!int8.noise) {
    throw Error(ErrorCode::kUnsupported, "nothing of the model is on integers");
  }
  if (options.goal.kind == SearchGoal::Kind::kSqnr) return;
  if (!int8.score.agreement && options.answers.boxes) {
    throw Error(ErrorCode::kUnsupported,
                "neither model finds a box on the images: an agreement has no meaning");
  }
  if (!int8.score.agreement) {
    throw Error(ErrorCode::kUnsupported,
                "the first output is not one score per class, and nothing says what it is: only "
                "a goal of SQNR has a meaning");
  }
  if (options.goal.kind != SearchGoal::Kind::kTop1Drop) return;
  if (options.answers.boxes || options.answers.mask) {
    throw Error(ErrorCode::kUsage,
                "a goal of top-1 accuracy needs scores per class, not boxes or masks");
  }
  if (int8.score.labelled == 0) {
    throw Error(ErrorCode::kUsage, "a goal of top-1 accuracy needs images with labels");
  }
}

void TriedModels::add(Tried tried) {
  index_.emplace(std::pair(tried.nodes, tried.wide), models_.size());
  models_.push_back(std::move(tried));
}

void TriedModels::set_slower(std::size_t index, const MedianInterval& slower, double base_seconds) {
  models_.at(index).slower = slower;
  if (options_.most_slower && slower.median <= *options_.most_slower * base_seconds) {
    fast_.insert(index);
  }
}

const Tried* TriedModels::find(const NodeSet& nodes, const std::vector<std::string>& wide) const {
  const auto found = index_.find(std::pair(nodes, wide));
  return found == index_.end() ? nullptr : &models_[found->second];
}

double TriedModels::margin(const TrialScore& score) const {
  switch (options_.goal.kind) {
    case SearchGoal::Kind::kSqnr:
      return worst_db(score) - options_.goal.value;
    case SearchGoal::Kind::kAgreement:
      return 100.0 * score.agreement.value_or(0.0) - options_.goal.value;
    case SearchGoal::Kind::kTop1Drop:
      return percent(score.top1 - score.fp32_top1, score.labelled) + options_.goal.value;
  }
  return 0.0;
}

bool TriedModels::reaches_goal(const Trial& trial) const {
  constexpr double kRounding = -1e-9;  // 100 * 0.58 is less than 58
  return trial.noise && trial.score.unanswered == 0 && margin(trial.score) >= kRounding;
}

bool TriedModels::allowed(const Tried& tried) const {
  if (!tried.trial.noise) return false;
  if (only_timed_ && !fast_.contains(index_.at(std::pair(tried.nodes, tried.wide)))) return false;
  return tried.trial.score.integer_share >= options_.least_integer_share;
}

bool TriedModels::better(const Tried& a, const Tried& b) const {
  const bool a_reaches = reaches_goal(a.trial);
  const bool b_reaches = reaches_goal(b.trial);
  if (a_reaches != b_reaches) return a_reaches;
  if (a_reaches && a.cost != b.cost) return a.cost < b.cost;
  const double a_margin = margin(a.trial.score);
  const double b_margin = margin(b.trial.score);
  if (!a_reaches && a_margin != b_margin) return a_margin > b_margin;
  return *a.trial.noise < *b.trial.noise;
}

std::vector<std::size_t> TriedModels::ranked() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (allowed(models_[i])) order.push_back(i);
  }
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return better(models_[a], models_[b]); });
  return order;
}

std::size_t TriedModels::best_index() const {
  const std::vector<std::size_t> order = ranked();
  return order.empty() ? 0 : order.front();
}

std::vector<std::size_t> TriedModels::frontier() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (i == 0 || allowed(models_[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Tried& one = models_[a];
    const Tried& other = models_[b];
    return one.cost != other.cost ? one.cost < other.cost
                                  : worst_db(one.trial.score) > worst_db(other.trial.score);
  });
  std::vector<std::size_t> kept;
  for (const std::size_t i : order) {
    const double db = worst_db(models_[i].trial.score);
    if (kept.empty() || db > worst_db(models_[kept.back()].trial.score)) kept.push_back(i);
  }
  return kept;
}

SearchPoint TriedModels::point(std::size_t index) const {
  const Tried& tried = models_.at(index);
  const TrialScore& score = tried.trial.score;
  SearchPoint point;
  point.exclude = tried.trial.change.exclude;
  point.wide = tried.wide;
  point.sqnr_db = worst_db(score);
  point.output_sqnr_db = score.sqnr_db;
  point.images = score.images;
  point.agreement = score.agreement;
  point.labelled = score.labelled;
  point.fp32_top1 = score.fp32_top1;
  point.top1 = score.top1;
  point.unanswered = score.unanswered;
  point.integer_share = score.integer_share;
  point.cost = tried.cost;
  point.reaches_goal = reaches_goal(tried.trial);
  point.slower_seconds = tried.slower;
  return point;
}

}  // namespace qtool
