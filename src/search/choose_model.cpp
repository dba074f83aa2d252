// How a search chooses among the models that it has tried: which of them may be chosen, which of
// two is better, and which it gives as its result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/tried_models.h"

namespace qtool {
namespace {

double percent(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

bool counts_answers(const SearchGoal& goal) { return goal.kind != SearchGoal::Kind::kSqnr; }

}  // namespace

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

}  // namespace qtool
