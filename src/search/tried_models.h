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

/// A model that was tried. Its trial has no noise if the model could not be made.
struct Tried {
  NodeSet nodes;                  ///< nodes in FP32, in addition to the base model's
  std::vector<std::string> wide;  ///< tensors in 16 bits, in addition to the base model's
  double cost = 0.0;              ///< the forecast cost, see Forecast::cost
  Trial trial;
  std::optional<MedianInterval> slower{};
  /// The counts for all goals, see goal_counts(), and their values on the curve through all models.
  std::vector<GoalCount> counts{};
  std::vector<double> fitted{};
};

/// The models that a search has run, and the choice of the best one (choose_model.cpp).
class TriedModels {
 public:
  /// `options` must outlive the object.
  explicit TriedModels(const SearchOptions& options) : options_(options) {}

  [[nodiscard]] bool empty() const noexcept { return models_.empty(); }
  /// The base model is added first.
  void add(Tried tried);
  void set_first_cost(double cost) { models_.front().cost = cost; }
  /// Sets how much longer an image takes than with the first model, which takes `base_seconds`.
  void set_slower(std::size_t index, const MedianInterval& slower, double base_seconds);
  /// From now on only models that are known to be fast enough are allowed.
  void keep_timed() { only_timed_ = true; }

  [[nodiscard]] const Tried& first() const { return models_.front(); }
  [[nodiscard]] const Tried& at(std::size_t index) const { return models_.at(index); }
  /// The model with these nodes in FP32 and these tensors in 16 bits; null if it was not tried.
  [[nodiscard]] const Tried* find(const NodeSet& nodes, const std::vector<std::string>& wide) const;
  /// Indices of the models that have one of these sets of nodes in FP32 and no tensor in 16 bits,
  /// in the order of the sets. Models that could not be made, or were not tried, are left out.
  [[nodiscard]] std::vector<std::size_t> made_of(const std::vector<NodeSet>& sets) const;

  /// Whether a model reaches all goals, as far as is known. The result may change when models are
  /// added, because they change the curve through all models. `tried` must be in this object.
  [[nodiscard]] bool reaches_goal(const Tried& tried) const;
  /// Whether a model keeps within the limits.
  [[nodiscard]] bool allowed(const Tried& tried) const;
  /// The index of the cheapest allowed model that reaches the goals. If none does, the model
  /// nearest to them. If no model is allowed, the first model.
  [[nodiscard]] std::size_t best_index() const;
  [[nodiscard]] const Tried& best() const { return models_[best_index()]; }
  /// The index of SearchResult::best: as best_index(), but of the models that cost nearly the same,
  /// the one with the most decibels where a goal counts answers. Counts on some images tell such
  /// models apart less surely than decibels do.
  [[nodiscard]] std::size_t chosen_index() const;
  /// The index of SearchResult::most_decibels; that of the chosen model where there is none.
  [[nodiscard]] std::size_t most_decibels_index() const;
  /// Indices of the allowed models, the best first.
  [[nodiscard]] std::vector<std::size_t> ranked() const;
  /// Indices of at most `most` models that no other model beats in both cost and the measure of the
  /// goals. They are spread evenly, the cheapest first. The chosen model is among them, the first
  /// one is not.
  [[nodiscard]] std::vector<std::size_t> frontier(std::size_t most) const;
  [[nodiscard]] SearchPoint point(std::size_t index) const;
  /// See SearchResult::surest.
  [[nodiscard]] std::optional<double> surest() const;

 private:
  /// The model with the most decibels that reaches the goals and costs at most `more_cost` more
  /// than the cheapest one, the cheapest of equal ones. The best model where none reaches them, or
  /// no goal counts answers.
  [[nodiscard]] std::size_t most_decibels_within(double more_cost) const;
  /// How far the model is above the goal that it misses most or exceeds least, in the unit of that
  /// goal. Negative if it misses a goal.
  [[nodiscard]] double margin(const Tried& tried) const;
  void fit();
  [[nodiscard]] bool better(const Tried& a, const Tried& b) const;

  const SearchOptions& options_;
  std::vector<Tried> models_;
  std::vector<double> allowed_;  ///< most mistakes, one per count of the goals
  std::map<std::pair<NodeSet, std::vector<std::string>>, std::size_t> index_;
  std::set<std::size_t> fast_{0};
  bool only_timed_ = false;
};

}  // namespace qtool
