#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/analyze/analyze.h"
#include "qtool/exec/executor.h"
#include "search/greedy_path.h"
#include "search/mix_forecast.h"

namespace qtool {

/// The numbers of tensors in 16 bits to try. The tensors with the most noise are taken, and only
/// those that make at least `least_share` of the noise.
struct WideCounts {
  std::vector<std::size_t> counts;
  double least_share = 0.0;
};

/// Smaller sets of the tensors in 16 bits, to try when the goal is reached: the first 90, 75, 50,
/// 25 and 0 percent of `tensors`, which are sorted by noise.
std::vector<std::vector<std::string>> fewer_of(const std::vector<std::string>& tensors);

/// Proposes the models that a search may try next, from the noise that was measured for each source
/// alone. The proposed models have the tensors of wide() in 16 bits, and differ in their nodes in
/// FP32.
class SearchCandidates {
 public:
  /// Whether a model with these nodes was tried.
  using IsKnown = std::function<bool(const NodeSet&)>;

  /// `fp32` and `exclusions` must outlive the object. `inputs`: shapes of one image. `limits` hold
  /// for everything that is proposed. Throws as MixForecast does.
  SearchCandidates(const Executor& fp32, std::span<const Shape> inputs,
                   const Exclusions& exclusions, AnalyzeResult analysis, PathLimits limits);

  [[nodiscard]] const std::vector<std::string>& wide() const noexcept { return wide_; }
  void set_wide(std::vector<std::string> tensors);
  /// The number of sets of nodes that are considered.
  [[nodiscard]] std::int64_t islands() const noexcept { return std::ssize(islands_); }

  /// The forecast cost, see Forecast::cost and MixForecast::cost_of_wide().
  [[nodiscard]] double cost(const NodeSet& nodes, const std::vector<std::string>& wide) const {
    return forecast_.of(nodes).cost + forecast_.cost_of_wide(wide);
  }
  /// Sets of the tensors with the most noise, each with more tensors than wide(). Each set contains
  /// the set before it.
  [[nodiscard]] std::vector<std::vector<std::string>> loudest(const WideCounts& counts) const;
  [[nodiscard]] std::vector<Mix> path_from(const NodeSet& start, std::size_t steps) const;
  /// Sets of nodes to try around `nodes`, which misses the goal: `nodes` with several islands added
  /// at once, and with the single islands that have the best forecasts.
  [[nodiscard]] std::vector<NodeSet> larger_than(const NodeSet& nodes,
                                                 const IsKnown& is_known) const;
  /// Sets of nodes to try around `nodes`, which reaches the goal: `nodes` without those that gain
  /// little for their cost.
  [[nodiscard]] std::vector<NodeSet> smaller_than(const NodeSet& nodes,
                                                  const IsKnown& is_known) const;

 private:
  [[nodiscard]] AnalyzeResult left() const;
  template <typename Body>
  [[nodiscard]] std::vector<std::pair<double, NodeSet>> rate(const std::vector<NodeSet>& sets,
                                                             const Body& body) const;
  void add_new(NodeSet nodes, const IsKnown& is_known, std::vector<NodeSet>& sets) const;

  const Executor& fp32_;
  std::vector<Shape> inputs_;
  const Exclusions& exclusions_;
  AnalyzeResult analysis_;
  PathLimits limits_;
  std::vector<std::string> wide_;
  MixForecast forecast_;
  std::vector<NodeSet> islands_;
  std::vector<NodeSet> blocks_;
};

}  // namespace qtool
