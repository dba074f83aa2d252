#include "search/faster_only.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "analyze/exclusions.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/race_plans.h"
#include "qtool/base/error.h"
#include "samples/network_inputs.h"
#include "search/islands.h"
#include "search/measured_gains.h"

namespace qtool {
namespace {

constexpr std::size_t kTogether = 6;  // models in a race, beside the reference
constexpr std::int64_t kMaxRaces = 4;
constexpr double kRaceSeconds = 3.0;       // the longest time that a race should take
constexpr std::int64_t kLeastRounds = 15;  // with fewer rounds, intervals say little

/// A model with some nodes in FP32, ready to run.
struct Made {
  std::unique_ptr<Executor> executor;
  std::shared_ptr<const Plan> plan;
};

class FasterSearch {
 public:
  FasterSearch(const Executor& fp32, const StaticInputs& base, std::span<const Shape> shapes,
               const FasterOptions& options, const PlanTimer& timer)
      : fp32_(fp32),
        base_(base),
        shapes_(shapes),
        options_(options),
        timer_(timer),
        exclusions_(fp32.graph(), base),
        threads_(resolve_threads(options.threads)) {
    result_.threads = threads_;
  }

  FasterResult run() {
    int8_ = make({});
    if (int8_.plan == nullptr) {
      throw Error(ErrorCode::kUnsupported,
                  "nothing of the model is on integers: there is nothing to make faster");
    }
    float_plan_ = compile_pair(fp32_, nullptr, shapes_, threads_).fp32;
    std::vector<NodeSet> candidates = islands();
    NodeSet chosen;
    for (races_ = 0; races_ < kMaxRaces && !candidates.empty(); ++races_) {
      chosen = improved(chosen, candidates);
    }
    finish(chosen);
    return std::move(result_);
  }

 private:
  Made make(const NodeSet& nodes) const {
    check_stop(options_.stop);
    StaticOptions options = base_.options;
    for (std::string& name : exclusions_.names_of(nodes))
      options.exclude.push_back(std::move(name));
    Quantized quantized = quantize(fp32_.graph(), base_.table, options, base_.learned);
    if (quantized.report.quantized_tensors == 0) return {};
    Made made;
    made.executor = std::make_unique<Executor>(prepare(std::move(quantized.graph), options_.stop),
                                               options_.stop);
    made.plan = compile_pair(fp32_, made.executor.get(), shapes_, threads_).int8;
    return made;
  }

  /// The sets of nodes to try, see faster_islands().
  std::vector<NodeSet> islands() const {
    const LinkedBlocks linked = linked_blocks(fp32_.graph(), exclusions_);
    const Plan* const plans[] = {float_plan_.get(), int8_.plan.get()};
    const std::vector<std::vector<double>> seconds = timer_.steps(plans);
    const std::vector<double> gains =
        measured_gains(linked.blocks, {fp32_.graph(), float_plan_->steps(), seconds[0]},
                       {int8_.executor->graph(), int8_.plan->steps(), seconds[1]});
    return faster_islands(linked, gains);
  }

  struct Entrant {
    NodeSet nodes;
    Made made;
  };

  /// `nodes` with one or more islands added, if this is measurably faster; else `nodes`. Removes
  /// the islands that were tried from `candidates`.
  NodeSet improved(const NodeSet& nodes, std::vector<NodeSet>& candidates) {
    std::vector<Entrant> entrants;
    entrants.push_back({nodes, make(nodes)});
    while (!candidates.empty() && entrants.size() <= kTogether) {
      NodeSet more = joined(nodes, candidates.front());
      candidates.erase(candidates.begin());
      if (more == nodes) continue;
      Made made = make(more);
      if (made.plan == nullptr) continue;  // this is FP32 alone, which runs in the last race
      entrants.push_back({std::move(more), std::move(made)});
    }
    if (entrants.size() == 1) return nodes;
    result_.tried += static_cast<std::int64_t>(entrants.size()) - 1;
    const std::vector<std::vector<double>> seconds = race_of(entrants);
    NodeSet all = nodes;
    std::size_t best = 0;
    double best_difference = 0.0;
    std::size_t faster = 0;
    for (std::size_t i = 1; i < entrants.size(); ++i) {
      const MedianInterval difference = difference_of(seconds[i], seconds[0]);
      if (difference.high >= 0.0) continue;
      ++faster;
      all = joined(all, entrants[i].nodes);
      if (difference.median < best_difference) {
        best = i;
        best_difference = difference.median;
      }
    }
    if (faster < 2 || all == entrants[best].nodes) return entrants[best].nodes;
    std::vector<Entrant> both;
    both.push_back({all, make(all)});
    if (both[0].made.plan == nullptr) return entrants[best].nodes;
    both.push_back(std::move(entrants[best]));
    ++result_.tried;
    const std::vector<std::vector<double>> last = race_of(both);
    return difference_of(last[0], last[1]).high < 0.0 ? both[0].nodes : both[1].nodes;
  }

  std::vector<std::vector<double>> race_of(const std::vector<Entrant>& entrants) const {
    std::vector<const Plan*> plans;
    for (const Entrant& entrant : entrants) plans.push_back(entrant.made.plan.get());
    return timer_.runs(plans);
  }

  /// Runs the last race: the chosen model, the base model and FP32.
  void finish(NodeSet chosen) {
    Made mixed = chosen.empty() ? Made() : make(chosen);
    std::vector<const Plan*> plans{float_plan_.get(), int8_.plan.get()};
    if (mixed.plan != nullptr) plans.push_back(mixed.plan.get());
    const std::vector<std::vector<double>> seconds = timer_.runs(plans);
    std::size_t winner = seconds.size() - 1;
    // The chosen model must be faster once more, because the best of many models is sometimes
    // faster by chance.
    if (winner == 2 && difference_of(seconds[2], seconds[1]).high >= 0.0) {
      winner = 1;
      chosen.clear();
    }
    result_.repeat = static_cast<std::int64_t>(seconds[0].size());
    result_.fp32_seconds = median(seconds[0]);
    result_.int8_seconds = median(seconds[1]);
    result_.mixed_seconds = median(seconds[winner]);
    result_.gained = difference_of(seconds[winner], seconds[1]);
    result_.over_fp32 = difference_of(seconds[winner], seconds[0]);
    result_.fp32_alone = result_.over_fp32.low > 0.0;
    if (result_.fp32_alone) {
      for (const NodeSet& block : blocks_of(fp32_.graph(), exclusions_)) {
        chosen = joined(chosen, block);
      }
    }
    result_.exclude = exclusions_.names_of(chosen);
  }

  const Executor& fp32_;
  const StaticInputs& base_;
  std::span<const Shape> shapes_;
  const FasterOptions& options_;
  const PlanTimer& timer_;
  Exclusions exclusions_;
  int threads_;
  Made int8_;
  std::shared_ptr<const Plan> float_plan_;
  std::int64_t races_ = 0;
  FasterResult result_;
};

}  // namespace

FasterResult faster_only(const Executor& fp32, const StaticInputs& base,
                         std::span<const Shape> shapes, const FasterOptions& options,
                         const PlanTimer& timer) {
  return FasterSearch(fp32, base, shapes, options, timer).run();
}

FasterResult faster_only(const Executor& fp32, const StaticInputs& base,
                         std::span<const Tensor> sample, const FasterOptions& options) {
  check_repeat(options.repeat);
  const std::vector<Shape> shapes = shapes_of(sample);
  const std::vector<TensorView> inputs = views_of(sample);
  std::int64_t races = 0;
  PlanTimer timer;
  timer.steps = [&](std::span<const Plan* const> plans) {
    std::vector<std::vector<double>> medians;
    std::vector<Workspace> workspaces(plans.size());
    std::vector<std::vector<std::vector<double>>> times(plans.size());  // [plan][step][round]
    for (std::int64_t round = -1; round < kLeastRounds; ++round) {
      check_stop(options.stop);
      for (std::size_t p = 0; p < plans.size(); ++p) {
        std::vector<double> seconds(plans[p]->steps().size());
        plans[p]->run_timed(inputs, workspaces[p], seconds);
        times[p].resize(seconds.size());
        if (round < 0) continue;  // warming up
        for (std::size_t i = 0; i < seconds.size(); ++i) times[p][i].push_back(seconds[i]);
      }
    }
    for (auto& plan : times) {
      std::vector<double>& of_plan = medians.emplace_back();
      for (std::vector<double>& step : plan) of_plan.push_back(median(std::move(step)));
    }
    return medians;
  };
  timer.runs = [&](std::span<const Plan* const> plans) {
    // Two rounds show how many rounds fit into kRaceSeconds.
    double round_seconds = 0.0;
    for (const std::vector<double>& one : race_plans(plans, inputs, 2, {})) {
      round_seconds += median(one);
    }
    const double fit = kRaceSeconds / std::max(round_seconds, 1e-9);
    const std::int64_t rounds = std::min(
        options.repeat, std::max(kLeastRounds, static_cast<std::int64_t>(std::min(fit, 1e6))));
    report_progress(options.progress, races, 2 * kMaxRaces + 1, "measurement", "races");
    ++races;
    return race_plans(plans, inputs, rounds, [&](std::int64_t, std::int64_t) {
      return options.stop && options.stop() ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
    });
  };
  FasterResult result = faster_only(fp32, base, shapes, options, timer);
  report_progress(options.progress, 2 * kMaxRaces + 1, 2 * kMaxRaces + 1, "measurement", "races");
  return result;
}

}  // namespace qtool
