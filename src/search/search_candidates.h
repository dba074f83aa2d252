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
#include "search/mix_forecast.h"
#include "search/mix_path.h"

namespace qtool {

/// Numbers of tensors in 16 bits to try, the loudest ones, as long as each makes this share of the
/// noise.
struct WideCounts {
  std::vector<std::size_t> counts;
  double least_share = 0.0;
};

/// Parts of the tensors in 16 bits that are worth a run where the goal is reached: fewer of the
/// loudest.
std::vector<std::vector<std::string>> fewer_of(const std::vector<std::string>& tensors);

/// What a search may try next, by what was measured of each source alone. Models have `wide()`
/// tensors in 16 bits, and differ in their nodes in FP32.
class SearchCandidates {
 public:
  /// Whether a model with these nodes was tried.
  using IsKnown = std::function<bool(const NodeSet&)>;

  /// `fp32` and `exclusions` must live as long. `inputs`: shapes of one image. `limits` hold for
  /// everything that is proposed. Throws as MixForecast.
  SearchCandidates(const Executor& fp32, std::span<const Shape> inputs,
                   const Exclusions& exclusions, AnalyzeResult analysis, PathLimits limits);

  [[nodiscard]] const std::vector<std::string>& wide() const noexcept { return wide_; }
  void set_wide(std::vector<std::string> tensors);
  /// Sets of nodes that are considered.
  [[nodiscard]] std::int64_t islands() const noexcept { return std::ssize(islands_); }

  /// As forecast, see Forecast::cost.
  [[nodiscard]] double cost(const NodeSet& nodes, const std::vector<std::string>& wide) const {
    return forecast_.of(nodes).cost + forecast_.cost_of_wide(wide);
  }
  /// The loudest tensors, more than `wide()` has; each set holds the one before.
  [[nodiscard]] std::vector<std::vector<std::string>> loudest(const WideCounts& counts) const;
  [[nodiscard]] std::vector<Mix> path_from(const NodeSet& start, std::size_t steps) const;
  /// Mixes worth a run around one that misses the goal: with the islands of the best forecast, with
  /// several of them, and with nodes given back where there is a limit on FP32.
  [[nodiscard]] std::vector<NodeSet> larger_than(const NodeSet& nodes,
                                                 const IsKnown& is_known) const;
  /// Mixes worth a run around one that reaches the goal: without nodes that bring little for what
  /// they cost.
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
