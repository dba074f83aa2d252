#include "search/greedy_path.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/stop.h"

namespace qtool {
namespace {

/// A smaller cost counts as this cost. So islands that add no work come first, sorted by their
/// gain.
constexpr double kMinCost = 1e-4;
constexpr double kMinGainDb = 1e-3;
/// Each step evaluates only this number of islands, those with the best gain per cost the last
/// time. Every kAllEvery steps it evaluates all islands, because an island may become better when
/// its neighbour is in FP32.
constexpr std::size_t kLookedAt = 256;
constexpr std::size_t kAllEvery = 8;

struct Candidate {
  std::size_t island = 0;
  double value = 0.0;    ///< gain per cost, when it was last evaluated
  bool is_open = false;  ///< evaluated in this step and within the limits
  Forecast forecast;     ///< valid if `is_open`
};

}  // namespace

double gain_per_cost(const Forecast& from, const Forecast& to) {
  // At 60 dB a model answers as FP32 does. Less noise does not count, so that FP32 for all nodes,
  // which has no noise, is not better than any smaller step.
  constexpr double kMinNoise = 1e-6;
  const double gain =
      10.0 * std::log10(std::max(from.noise, kMinNoise) / std::max(to.noise, kMinNoise));
  if (!(gain >= kMinGainDb)) return 0.0;
  return gain / std::max(to.cost - from.cost, kMinCost);
}

std::vector<Mix> greedy_path(const MixForecast& model, const std::vector<NodeSet>& islands,
                             NodeSet start, const PathLimits& limits) {
  std::vector<Mix> path{{start, model.of(start)}};
  std::vector<Candidate> candidates(islands.size());
  for (std::size_t i = 0; i < islands.size(); ++i) candidates[i].island = i;
  bool found = true;
  while (path.size() <= limits.most_steps && path.back().forecast.noise > limits.enough_noise) {
    check_stop(limits.stop);
    const Mix& last = path.back();
    const bool all = !found || (path.size() - 1) % kAllEvery == 0;
    const std::size_t looked_at = all ? candidates.size() : std::min(kLookedAt, candidates.size());
    parallel_items(static_cast<std::int64_t>(looked_at), limits.threads,
                   [&](std::int64_t item, int /*worker*/) {
                     Candidate& candidate = candidates[static_cast<std::size_t>(item)];
                     check_stop(limits.stop);
                     candidate.value = 0.0;
                     const NodeSet next = joined(last.excluded, islands[candidate.island]);
                     if (next.size() == last.excluded.size()) return;
                     const Forecast forecast = model.of(next);
                     if (forecast.integer_share < limits.least_integer_share) return;
                     candidate.value = gain_per_cost(last.forecast, forecast);
                     candidate.forecast = forecast;
                     candidate.is_open = true;
                   });
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.value != b.value ? a.value > b.value : a.island < b.island;
    });
    // An island that was not evaluated in this step may be in front now, with the value of an
    // earlier step. It is skipped.
    const auto best = std::find_if(candidates.begin(), candidates.end(),
                                   [](const Candidate& c) { return c.value > 0.0 && c.is_open; });
    found = best != candidates.end();
    if (!found && all) break;
    if (!found) continue;
    path.push_back({joined(last.excluded, islands[best->island]), best->forecast});
    for (Candidate& candidate : candidates) candidate.is_open = false;
  }
  return path;
}

std::vector<std::size_t> steps_between(std::size_t fails, std::size_t last, std::size_t reaches,
                                       std::size_t count) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::size_t step = fails + (last - fails) * i / count;
    const bool is_new = steps.empty() || steps.back() != step;
    if (step > fails && step < reaches && is_new) steps.push_back(step);
  }
  return steps;
}

}  // namespace qtool
