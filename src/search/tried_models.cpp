#include "search/tried_models.h"

#include <algorithm>
#include <utility>

namespace qtool {

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
