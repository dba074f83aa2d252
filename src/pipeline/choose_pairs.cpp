#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/paired_gains.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"

namespace qtool {
namespace {

constexpr std::int64_t kMostCompared = 16;
constexpr std::int64_t kComparedAtOnce = 4;  // at least, if there are so many

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

/// What `free` gains over `limited` at the output where it gains most.
MeanGain cost_of(const PairedGains& trial) {
  MeanGain worst;
  const std::vector<MeanGain> all = mean_gains(trial.by_sample());
  for (std::size_t o = 0; o < all.size(); ++o) {
    if (o == 0 || all[o].decibels > worst.decibels) worst = all[o];
  }
  return worst;
}

std::optional<PairChoice> choose(const Executor& fp32, const Samples& samples,
                                 const CalibrateOptions& options, CalibrationTable& table) {
  const Quantized free =
      quantize(fp32.whole_graph(), table, options_for(options, table, WeightPairs::kFree));
  if (free.report.saturating_pairs == 0) return std::nullopt;
  const StaticOptions limits = options_for(options, table, WeightPairs::kLimited);
  CalibrationTable limited = table;
  fill_weight_entries(fp32.graph(), limits, limited);
  const Samples some = samples.spread(std::min(kMostCompared, samples.size()));
  SampleRunOptions run;
  run.preprocess = options.collect.preprocess;
  run.bad_images = options.collect.bad_images;
  run.threads = options.collect.threads;
  run.progress = options.collect.progress;
  run.stop = options.stop;
  PairedGains trial(fp32, quantize(fp32.whole_graph(), limited, limits).graph, free.graph, some,
                    run);
  const std::int64_t rounds = std::max<std::int64_t>(some.size() / kComparedAtOnce, 1);
  for (std::int64_t round = 0; round < rounds; ++round) {
    trial.add(some.part(round, rounds), "comparison of pairs of weights");
    const std::optional<Interval> interval = cost_of(trial).interval;
    // Single samples differ by decibels, so few of them show only a clear cost.
    if (interval && (interval->low > kMostPairCostDb || interval->high <= kMostPairCostDb)) break;
  }
  if (trial.samples() == 0) return std::nullopt;
  const MeanGain cost = cost_of(trial);
  const PairChoice choice{free.report.saturating_pairs, cost.decibels, cost.interval,
                          trial.samples(), cost.decibels <= kMostPairCostDb};
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
