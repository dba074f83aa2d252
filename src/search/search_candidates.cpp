#include "search/search_candidates.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/stop.h"
#include "search/islands.h"

namespace qtool {
namespace {

/// The number of models of one round.
constexpr std::size_t kRound = 12;
/// A round also tries the models that are these numbers of steps further along the path.
constexpr std::size_t kLeaps[] = {2, 4, 8};
constexpr double kWorthDb = 0.02;

}  // namespace

std::vector<std::vector<std::string>> fewer_of(const std::vector<std::string>& tensors) {
  std::vector<std::vector<std::string>> parts;
  std::size_t least = tensors.size();
  for (const double share : {0.9, 0.75, 0.5, 0.25, 0.0}) {
    const auto count = static_cast<std::size_t>(share * static_cast<double>(tensors.size()));
    if (count >= least) continue;
    least = count;
    parts.emplace_back(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return parts;
}

SearchCandidates::SearchCandidates(const Executor& fp32, std::span<const Shape> inputs,
                                   const Exclusions& exclusions, AnalyzeResult analysis,
                                   PathLimits limits)
    : fp32_(fp32),
      inputs_(inputs.begin(), inputs.end()),
      exclusions_(exclusions),
      analysis_(std::move(analysis)),
      limits_(std::move(limits)),
      forecast_(fp32, inputs_, exclusions, analysis_),
      islands_(islands_of(fp32.graph(), exclusions, analysis_)),
      blocks_(blocks_of(fp32.graph(), exclusions)) {}

/// The sources without the tensors that keep 16 bits, which count as free of noise.
AnalyzeResult SearchCandidates::left() const {
  AnalyzeResult left = analysis_;
  std::erase_if(left.sources, [&](const ErrorSource& source) {
    return source.kind == SourceKind::kActivation &&
           std::find(wide_.begin(), wide_.end(), source.name) != wide_.end();
  });
  return left;
}

void SearchCandidates::set_wide(std::vector<std::string> tensors) {
  wide_ = std::move(tensors);
  forecast_ = MixForecast(fp32_, inputs_, exclusions_, left());
  islands_ = islands_of(fp32_.graph(), exclusions_, left());
}

std::vector<std::vector<std::string>> SearchCandidates::loudest(const WideCounts& counts) const {
  std::vector<std::string> names;
  for (const ErrorSource& source : analysis_.sources) {
    if (source.kind == SourceKind::kActivation && source.share >= counts.least_share) {
      names.push_back(source.name);
    }
  }
  std::vector<std::vector<std::string>> sets;
  std::size_t most = wide_.size();
  for (const std::size_t wanted : counts.counts) {
    const std::size_t count = std::min(wanted, names.size());
    if (count <= most) continue;
    most = count;
    sets.emplace_back(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return sets;
}

std::vector<Mix> SearchCandidates::path_from(const NodeSet& start, std::size_t steps) const {
  PathLimits limits = limits_;
  limits.most_steps = steps;
  return greedy_path(forecast_, islands_, start, limits);
}

std::vector<NodeSet> SearchCandidates::larger_than(const NodeSet& nodes,
                                                   const IsKnown& is_known) const {
  std::vector<NodeSet> sets;
  const Forecast now = forecast_.of(nodes);
  std::vector<std::pair<double, NodeSet>> rated = rate(islands_, [&](const NodeSet& island) {
    NodeSet next = joined(nodes, island);
    return std::pair(gain_per_cost(now, forecast_.of(next)), std::move(next));
  });
  const std::vector<Mix> path = path_from(nodes, kLeaps[2]);
  for (const std::size_t leap : kLeaps) {
    if (leap < path.size()) add_new(path[leap].excluded, is_known, sets);
  }
  for (auto& [value, next] : rated) {
    if (sets.size() >= kRound || value <= 0.0) break;
    add_new(std::move(next), is_known, sets);
  }
  return sets;
}

std::vector<NodeSet> SearchCandidates::smaller_than(const NodeSet& nodes,
                                                    const IsKnown& is_known) const {
  std::vector<NodeSet> parts = blocks_;
  parts.insert(parts.end(), islands_.begin(), islands_.end());
  const Forecast now = forecast_.of(nodes);
  std::vector<std::pair<double, NodeSet>> rated = rate(parts, [&](const NodeSet& part) {
    NodeSet next = without(nodes, part);
    if (next.size() == nodes.size()) return std::pair(0.0, NodeSet());
    const Forecast then = forecast_.of(next);
    if (then.cost >= now.cost) return std::pair(0.0, NodeSet());
    const double lost = 10.0 * std::log10(std::max(then.noise, 1e-20) / now.noise);
    return std::pair((now.cost - then.cost) / std::max(lost, kWorthDb), std::move(next));
  });
  std::vector<NodeSet> sets;
  for (auto& [value, next] : rated) {
    if (sets.size() >= kRound || value <= 0.0) break;
    add_new(std::move(next), is_known, sets);
  }
  return sets;
}

/// The result of `body` for each set, sorted by value, the best first.
template <typename Body>
std::vector<std::pair<double, NodeSet>> SearchCandidates::rate(const std::vector<NodeSet>& sets,
                                                               const Body& body) const {
  std::vector<std::pair<double, NodeSet>> rated(sets.size());
  parallel_items(std::ssize(sets), limits_.threads, [&](std::int64_t i, int /*worker*/) {
    check_stop(limits_.stop);
    rated[static_cast<std::size_t>(i)] = body(sets[static_cast<std::size_t>(i)]);
  });
  std::stable_sort(rated.begin(), rated.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return rated;
}

void SearchCandidates::add_new(NodeSet nodes, const IsKnown& is_known,
                               std::vector<NodeSet>& sets) const {
  if (is_known(nodes) || std::find(sets.begin(), sets.end(), nodes) != sets.end()) return;
  if (forecast_.of(nodes).integer_share < limits_.least_integer_share) return;
  sets.push_back(std::move(nodes));
}

}  // namespace qtool
