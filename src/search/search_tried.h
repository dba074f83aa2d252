#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyze/exclusions.h"
#include "analyze/suggest_trials.h"
#include "qtool/compare/profile.h"
#include "qtool/search/search.h"
#include "search/goal_evidence.h"

namespace qtool {

/// Throws Error(kUsage) for values out of their domain.
void check_options(const SearchOptions& options);

/// A model that was made; without noise where that was not possible.
struct Tried {
  NodeSet nodes;                  ///< in FP32, beside those of the recipe
  std::vector<std::string> wide;  ///< tensors in 16 bits, the same
  double cost = 0.0;              ///< forecast, see Forecast::cost
  Trial trial;
  std::optional<MedianInterval> slower{};
  /// What the goal counts of it, see goal_counts(), and the same by the curve through all models.
  std::vector<GoalCount> counts{};
  std::vector<double> fitted{};
};

/// Throws Error(kUnsupported) or Error(kUsage) where the goal has no meaning for a network, as its
/// INT8 model answered.
void require_meaning(const SearchOptions& options, const Trial& int8);

/// The models that a search has run, and which of them is the best answer.
class TriedModels {
 public:
  /// `options` must live as long.
  explicit TriedModels(const SearchOptions& options) : options_(options) {}

  [[nodiscard]] bool empty() const noexcept { return models_.empty(); }
  /// The recipe's own model is added first.
  void add(Tried tried);
  void set_first_cost(double cost) { models_.front().cost = cost; }
  /// What an image takes longer than with the first model, which takes `base_seconds`.
  void set_slower(std::size_t index, const MedianInterval& slower, double base_seconds);
  /// From now on only models that are known to be fast enough are allowed.
  void keep_timed() { only_timed_ = true; }

  [[nodiscard]] const Tried& first() const { return models_.front(); }
  [[nodiscard]] const Tried& at(std::size_t index) const { return models_.at(index); }
  /// Null for nodes that were not tried together, beside these tensors.
  [[nodiscard]] const Tried* find(const NodeSet& nodes, const std::vector<std::string>& wide) const;

  /// Whether a model of this object reaches the goal, by what is known so far: each model that is
  /// added may tell more about the others.
  [[nodiscard]] bool reaches_goal(const Tried& tried) const;
  /// Whether a model keeps within the limits.
  [[nodiscard]] bool allowed(const Tried& tried) const;
  /// The cheapest one that reaches the goal; where none does, the nearest one. The first one where
  /// no other is allowed.
  [[nodiscard]] std::size_t best_index() const;
  [[nodiscard]] const Tried& best() const { return models_[best_index()]; }
  /// Indices of the allowed models, the best first.
  [[nodiscard]] std::vector<std::size_t> ranked() const;
  /// Indices of at most `most` models that no other one beats in both cost and what the goal asks
  /// for, spread evenly and the cheapest first; the best one is among them. Without the first one.
  [[nodiscard]] std::vector<std::size_t> frontier(std::size_t most) const;
  [[nodiscard]] SearchPoint point(std::size_t index) const;
  /// See SearchResult::surest.
  [[nodiscard]] std::optional<double> surest() const;

 private:
  /// What the goal counts, larger is better, minus what it asks for.
  [[nodiscard]] double margin(const Tried& tried) const;
  /// Whether each model's own count decides.
  [[nodiscard]] bool counts_alone() const { return options_.goal.confidence <= 0.5; }
  void fit();
  [[nodiscard]] bool better(const Tried& a, const Tried& b) const;

  const SearchOptions& options_;
  std::vector<Tried> models_;
  std::vector<double> allowed_;  ///< by count of the goal
  std::map<std::pair<NodeSet, std::vector<std::string>>, std::size_t> index_;
  std::set<std::size_t> fast_{0};
  bool only_timed_ = false;
};

}  // namespace qtool
