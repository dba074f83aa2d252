#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compare/intervals.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/output_noise.h"
#include "compare/sample_runs.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"

namespace qtool {
namespace {

constexpr std::int64_t kMostCompared = 16;
constexpr std::int64_t kComparedAtOnce = 4;  // at least, if there are so many
// A sample counts no more than this. Without noise, its SQNR would be infinite.
constexpr double kMostOfSampleDb = 6.0;

StaticOptions options_for(const CalibrateOptions& options, const CalibrationTable& table,
                          WeightPairs pairs) {
  StaticOptions choices;
  choices.target = options.target;
  choices.exclude = options.overrides.exclude;
  choices.types = options.types;
  choices.types.weight_pairs = pairs;
  choices.rewrites = table.rewrites.names;
  choices.model_fingerprint = options.collect.model_fingerprint;
  choices.threads = options.collect.threads;
  choices.stop = options.stop;
  return choices;
}

struct PairCost {
  double decibels = 0.0;
  std::optional<Interval> interval{};
};

/// By output, the SQNR that limited pairs cost one sample. Empty for a sample that was not used.
using SampleCosts = std::vector<double>;

/// Runs the three models on the same samples.
class PairTrial {
 public:
  PairTrial(const Executor& fp32, const Graph& free, const Graph& limited, const Samples& samples,
            const CalibrateOptions& options)
      : free_(prepare(free, options.stop), options.stop),
        limited_(prepare(limited, options.stop), options.stop) {
    run_.preprocess = options.collect.preprocess;
    run_.bad_images = options.collect.bad_images;
    run_.threads = options.collect.threads;
    run_.progress = options.collect.progress;
    run_.stop = options.stop;
    const auto shapes = shapes_of(first_sample(samples, run_.preprocess, run_.bad_images));
    const ModelPair pair = compile_pair(fp32, &free_, shapes, 1);
    fp32_plan_ = pair.fp32;
    free_plan_ = pair.int8;
    limited_plan_ = compile_pair(fp32, &limited_, shapes, 1).int8;
    for (std::size_t o = 0; o < fp32_plan_->outputs().size(); ++o) {
      if (is_float(fp32_plan_->outputs()[o].dtype)) outputs_.push_back(o);
    }
  }

  void run(const Samples& samples) {
    std::vector<Worker> workers(static_cast<std::size_t>(sample_workers(samples, run_)));
    std::vector<SampleCosts> by_sample(static_cast<std::size_t>(samples.size()));
    const auto body = [&](std::size_t entry, std::span<const TensorView> inputs, int index) {
      Worker& worker = workers[static_cast<std::size_t>(index)];
      worker.reference.keep(fp32_plan_->run(inputs, worker.fp32));
      const auto free = worker.reference.compare(free_plan_->run(inputs, worker.free));
      const auto limited = worker.reference.compare(limited_plan_->run(inputs, worker.limited));
      for (const std::size_t o : outputs_) {
        const double cost = free[o].decibels() - limited[o].decibels();
        by_sample[entry].push_back(std::clamp(cost, -kMostOfSampleDb, kMostOfSampleDb));
      }
    };
    static_cast<void>(
        for_each_sample(samples, run_, *fp32_plan_, "comparison of pairs of weights", body));
    std::erase_if(by_sample, [](const SampleCosts& costs) { return costs.empty(); });
    costs_.insert(costs_.end(), by_sample.begin(), by_sample.end());
  }

  [[nodiscard]] std::int64_t used() const { return std::ssize(costs_); }

  /// The mean over the samples, for the output that loses most, and its interval. The interval is
  /// empty for few samples.
  [[nodiscard]] PairCost cost() const {
    PairCost worst;
    for (std::size_t o = 0; o < outputs_.size() && !costs_.empty(); ++o) {
      std::vector<double> values;
      for (const SampleCosts& costs : costs_) values.push_back(costs[o]);
      const double mean = mean_of(values);
      if (o == 0 || mean > worst.decibels) worst = {mean, mean_interval(values)};
    }
    return worst;
  }

 private:
  struct Worker {
    Workspace fp32;
    Workspace free;
    Workspace limited;
    KeptOutputs reference;
  };

  SampleRunOptions run_;
  Executor free_;
  Executor limited_;
  std::shared_ptr<const Plan> fp32_plan_;
  std::shared_ptr<const Plan> free_plan_;
  std::shared_ptr<const Plan> limited_plan_;
  std::vector<std::size_t> outputs_;  // with real numbers
  std::vector<SampleCosts> costs_;
};

std::optional<PairChoice> choose(const Executor& fp32, const Samples& samples,
                                 const CalibrateOptions& options, CalibrationTable& table) {
  const Quantized free =
      quantize(fp32.whole_graph(), table, options_for(options, table, WeightPairs::kFree));
  if (free.report.saturating_pairs == 0) return std::nullopt;
  const StaticOptions limits = options_for(options, table, WeightPairs::kLimited);
  CalibrationTable limited = table;
  fill_weight_entries(fp32.graph(), limits, limited);
  const Samples some = samples.spread(std::min(kMostCompared, samples.size()));
  PairTrial trial(fp32, free.graph, quantize(fp32.whole_graph(), limited, limits).graph, some,
                  options);
  const std::int64_t rounds = std::max<std::int64_t>(some.size() / kComparedAtOnce, 1);
  for (std::int64_t round = 0; round < rounds; ++round) {
    trial.run(some.part(round, rounds));
    const std::optional<Interval> interval = trial.cost().interval;
    // Single samples differ by decibels, so few of them show only a clear cost.
    if (interval && (interval->low > kMostPairCostDb || interval->high <= kMostPairCostDb)) break;
  }
  if (trial.used() == 0) return std::nullopt;
  const PairCost cost = trial.cost();
  const PairChoice choice{free.report.saturating_pairs, cost.decibels, cost.interval, trial.used(),
                          cost.decibels <= kMostPairCostDb};
  if (choice.is_limited) table = std::move(limited);
  return choice;
}

}  // namespace

std::optional<PairChoice> choose_pairs(const Executor& fp32, const Samples& samples,
                                       const CalibrateOptions& options, CalibrationTable& table) {
  if (options.types.weight_pairs || !find_target(options.target).adds_pairs_in_16_bits) {
    return std::nullopt;
  }
  try {
    return choose(fp32, samples, options, table);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    return std::nullopt;  // the ranges are worth more than this choice
  }
}

}  // namespace qtool
