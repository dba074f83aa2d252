#include "compare/race_plans.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "base/stopwatch.h"
#include "compare/metrics.h"

namespace qtool {
namespace {

constexpr std::int64_t kRaceWarmUps = 3;
constexpr double kWidestRatio = 0.2;

bool varies(std::span<const double> seconds) {
  if (seconds.empty()) return true;
  return is_unsteady(median(std::vector<double>(seconds.begin(), seconds.end())),
                     *std::ranges::min_element(seconds));
}

}  // namespace

std::vector<std::vector<double>> race_plans(std::span<const Plan* const> plans,
                                            std::span<const TensorView> inputs, std::int64_t rounds,
                                            const Progress& progress) {
  std::vector<Workspace> workspaces(plans.size());
  std::vector<std::vector<double>> seconds(plans.size());
  for (std::int64_t round = -kRaceWarmUps; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < plans.size(); ++turn) {
      const std::size_t p = (turn + static_cast<std::size_t>(round + kRaceWarmUps)) % plans.size();
      const Stopwatch run;
      plans[p]->run(inputs, workspaces[p]);
      const double taken = run.seconds();
      if (round >= 0) seconds[p].push_back(taken);
    }
    report_progress(progress, std::max<std::int64_t>(round + 1, 0), rounds, "measurement", "runs");
  }
  return seconds;
}

MedianInterval difference_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return median_interval(std::move(differences));
}

RunCost cost_of(std::span<const double> changed, std::span<const double> base) {
  RunCost cost;
  cost.seconds = difference_of(changed, base);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < changed.size(); ++i) ratios.push_back(changed[i] / base[i]);
  cost.ratio = median_interval(std::move(ratios));
  cost.base_seconds = median(std::vector<double>(base.begin(), base.end()));
  cost.disturbed =
      varies(changed) || varies(base) || !(cost.ratio.high - cost.ratio.low <= kWidestRatio);
  return cost;
}

}  // namespace qtool
