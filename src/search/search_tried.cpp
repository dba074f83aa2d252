#include "search/search_tried.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "compare/model_pair.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

double percent(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

double worst_db(const TrialScore& score) {
  return score.sqnr_db.empty() ? 0.0 : *std::ranges::min_element(score.sqnr_db);
}

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

bool counts_answers(const SearchGoal& goal) { return goal.kind != SearchGoal::Kind::kSqnr; }

/// Whether only the model's own count decides, without the curve.
bool counts_alone(const GoalCount& count) { return count.confidence <= 0.5; }

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

void TriedModels::add(Tried tried) {
  index_.emplace(std::pair(tried.nodes, tried.wide), models_.size());
  for (const SearchGoal& goal : options_.goals) {
    if (!tried.trial.noise) break;
    for (const GoalCount& count : goal_counts(goal, tried.trial.score)) {
      tried.counts.push_back(count);
    }
  }
  models_.push_back(std::move(tried));
  fit();
}

/// Fits one curve per count over the noise. With the curve, a model is not chosen only because its
/// own count is low by luck: the counts of models with nearly the same noise matter too.
void TriedModels::fit() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (!models_[i].counts.empty()) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return *models_[a].trial.noise < *models_[b].trial.noise;
  });
  if (order.empty()) return;
  for (const std::size_t i : order) models_[i].fitted.clear();
  for (std::size_t count = 0; count < models_[order.front()].counts.size(); ++count) {
    std::vector<double> mistakes;
    for (const std::size_t i : order) mistakes.push_back(models_[i].counts.at(count).mistakes);
    const std::vector<double> fitted = rising_fit(mistakes);
    for (std::size_t i = 0; i < order.size(); ++i) models_[order[i]].fitted.push_back(fitted[i]);
  }
  if (!allowed_.empty()) return;  // equal for all models, because FP32's answers are
  for (const GoalCount& count : models_[order.front()].counts) {
    allowed_.push_back(allowed_mistakes(count));
  }
}

void TriedModels::set_slower(std::size_t index, const MedianInterval& slower, double base_seconds) {
  models_.at(index).slower = slower;
  if (options_.max_latency_cost && slower.median <= *options_.max_latency_cost * base_seconds) {
    fast_.insert(index);
  }
}

const Tried* TriedModels::find(const NodeSet& nodes, const std::vector<std::string>& wide) const {
  const auto found = index_.find(std::pair(nodes, wide));
  return found == index_.end() ? nullptr : &models_[found->second];
}

std::vector<std::size_t> TriedModels::made_of(const std::vector<NodeSet>& sets) const {
  std::vector<std::size_t> made;
  for (const NodeSet& nodes : sets) {
    const auto found = index_.find(std::pair(nodes, std::vector<std::string>()));
    if (found != index_.end() && models_[found->second].trial.noise) made.push_back(found->second);
  }
  return made;
}

double TriedModels::margin(const Tried& tried) const {
  const TrialScore& score = tried.trial.score;
  double least = std::numeric_limits<double>::infinity();
  for (const SearchGoal& goal : options_.goals) {
    if (goal.kind == SearchGoal::Kind::kSqnr) least = std::min(least, worst_db(score) - goal.value);
    if (goal.kind == SearchGoal::Kind::kTop1Drop) {
      const double change = percent(score.top1 - score.fp32_top1, score.labelled);
      least = std::min(least, change + goal.value);
    }
  }
  for (std::size_t i = 0; i < tried.counts.size(); ++i) {
    const GoalCount& count = tried.counts[i];
    const double mistakes = counts_alone(count) ? count.mistakes : tried.fitted.at(i);
    least = std::min(least, 100.0 * (allowed_.at(i) - mistakes) / std::max(count.all, 1.0));
  }
  return least;
}

bool TriedModels::reaches_goal(const Tried& tried) const {
  constexpr double kRounding = -1e-9;  // in floating point, 100 * 0.58 is less than 58
  if (!tried.trial.noise || tried.trial.score.unanswered > 0) return false;
  // A goal that is shown as reached is also reached by the model's own counts on the images.
  const bool own = std::ranges::all_of(tried.counts, [](const GoalCount& count) {
    return count.mistakes <= count.most_share * count.all - kRounding;
  });
  return own && margin(tried) >= kRounding;
}

bool TriedModels::allowed(const Tried& tried) const {
  if (!tried.trial.noise) return false;
  if (only_timed_ && !fast_.contains(index_.at(std::pair(tried.nodes, tried.wide)))) return false;
  return tried.trial.score.integer_share >= options_.least_integer_share;
}

bool TriedModels::better(const Tried& a, const Tried& b) const {
  const bool a_reaches = reaches_goal(a);
  const bool b_reaches = reaches_goal(b);
  if (a_reaches != b_reaches) return a_reaches;
  if (a_reaches && a.cost != b.cost) return a.cost < b.cost;
  const double a_margin = margin(a);
  const double b_margin = margin(b);
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

std::size_t TriedModels::most_decibels_within(double more_cost) const {
  const std::vector<std::size_t> order = ranked();
  const std::size_t cheapest = order.empty() ? 0 : order.front();
  if (!std::ranges::any_of(options_.goals, counts_answers)) return cheapest;
  if (!reaches_goal(models_[cheapest])) return cheapest;
  const double most_cost = models_[cheapest].cost + more_cost;
  std::size_t chosen = cheapest;
  for (const std::size_t i : order) {
    const Tried& model = models_[i];
    if (!reaches_goal(model) || model.cost > most_cost) continue;
    if (worst_db(model.trial.score) > worst_db(models_[chosen].trial.score)) chosen = i;
  }
  return chosen;
}

std::size_t TriedModels::chosen_index() const { return most_decibels_within(kNearCost); }

std::size_t TriedModels::most_decibels_index() const {
  return most_decibels_within(std::numeric_limits<double>::infinity());
}

std::vector<std::size_t> TriedModels::frontier(std::size_t most) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < models_.size(); ++i) {
    if (allowed(models_[i])) order.push_back(i);
  }
  const auto by_cost = [&](std::size_t a, std::size_t b) {
    const Tried& one = models_[a];
    const Tried& other = models_[b];
    return one.cost != other.cost ? one.cost < other.cost : margin(one) > margin(other);
  };
  std::ranges::stable_sort(order, by_cost);
  std::vector<std::size_t> kept;
  double highest = margin(models_.front());
  for (const std::size_t i : order) {
    if (margin(models_[i]) <= highest) continue;
    highest = margin(models_[i]);
    kept.push_back(i);
  }
  std::vector<std::size_t> some;
  for (std::size_t i = 1; i <= std::min(most, kept.size()); ++i) {
    some.push_back(kept[i * kept.size() / std::min(most, kept.size()) - 1]);
  }
  const std::size_t best = chosen_index();
  if (best == 0 || std::ranges::find(some, best) != some.end()) return some;
  if (some.size() == most) {  // the best one replaces the one with the nearest cost
    some.erase(std::ranges::min_element(
        some, {}, [&](std::size_t i) { return std::abs(models_[i].cost - models_[best].cost); }));
  }
  some.push_back(best);
  std::ranges::stable_sort(some, by_cost);
  return some;
}

std::optional<double> TriedModels::surest() const {
  std::optional<double> lowest;
  for (const GoalCount& count : models_.front().counts) {
    if (counts_alone(count)) continue;
    const double most = sure_share(count, 0.0);
    if (most > count.most_share) lowest = std::min(lowest.value_or(1.0), 1.0 - most);
  }
  return lowest;
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
  point.reaches_goal = reaches_goal(tried);
  point.slower_seconds = tried.slower;
  const bool too_slow = options_.max_latency_cost && tried.slower && !fast_.contains(index);
  point.beyond_limit = too_slow || score.integer_share < options_.least_integer_share;
  point.boxes = score.boxes;
  for (std::size_t i = 0; i < tried.fitted.size(); ++i) {
    const GoalCount& count = tried.counts[i];
    if (counts_alone(count)) continue;
    const double most = sure_share(count, tried.fitted[i]);
    if (count.kind == GoalCount::Kind::kNotKept) point.kept_at_least = 1.0 - most;
    if (count.kind == GoalCount::Kind::kAdded) point.added_at_most = most;
    point.agreement_at_least = std::min(point.agreement_at_least.value_or(1.0), 1.0 - most);
  }
  return point;
}

}  // namespace qtool
