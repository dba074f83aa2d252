#include "qtool/on_images/tune_ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/stop.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/output_noise.h"
#include "compare/quantized_parts.h"
#include "compare/sample_runs.h"
#include "compare/tensor_rounding.h"
#include "exec/replay.h"
#include "graph/id_map.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "quantize/groundwork.h"

namespace qtool {
namespace {

/// The factors of a range that are tried. The search goes from one to the next.
constexpr std::array<double, 9> kRangeFactors = {0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5};
constexpr std::size_t kOwn = 5;         // the range as it is
constexpr std::int64_t kMaxPasses = 6;  // one for kOwn, and one per factor on the longer side
constexpr std::int64_t kMaxTuned = 32;
constexpr std::int64_t kMaxJudged = 32;
constexpr double kWorthTrying = 0.005;   // of the noise of the INT8 model
constexpr double kWorthChanging = 0.98;  // of the noise with the range as it is
constexpr double kMinRangeGainDb = 0.3;  // of the mean of the outputs
constexpr double kMaxLossDb = 0.1;       // of one output

/// A rounded tensor of the network.
struct Rounded {
  std::string tensor;
  std::size_t group = 0;
};

/// Tensors that share one range.
struct Group {
  std::vector<std::size_t> tensors;  // in the order of the network
  Range range;
  std::array<std::optional<double>, kRangeFactors.size()> noise;  // by factor
  bool given = false;  // the user gave the range of at least one tensor
  bool tried = false;
  std::size_t best = kOwn;

  /// The next factor to measure: a neighbour of the best factor that was not measured yet.
  [[nodiscard]] std::optional<std::size_t> next() const {
    if (!tried) return std::nullopt;
    if (best > 0 && best <= kOwn && !noise[best - 1]) return best - 1;
    if (best + 1 < noise.size() && best >= kOwn && !noise[best + 1]) return best + 1;
    return std::nullopt;
  }
};

/// One factor of one group to measure.
struct Attempt {
  std::size_t group;
  std::size_t factor;
};

class Tuner {
 public:
  Tuner(const Groundwork& ground, const Executor& network, const Executor& int8,
        const Samples& samples, const SampleRunOptions& run, std::int64_t& done)
      : scheme_(ground.target().activations), samples_(samples), run_(run), done_(done) {
    std::map<ValueId, std::size_t> group_of;
    std::set<std::string_view> given;
    for (const ActivationEntry& entry : ground.table().activations) {
      if (entry.origin == Origin::kUser) given.insert(entry.tensor);
    }
    const ActivationAffines& affines = ground.activations();
    CompileOptions compile;
    compile.threads = 1;
    compile.keep = true;
    for (const ValueId id : ground.placement().quantized) {
      // The outputs of passing nodes and joined Concats are rounded already.
      if (ground.placement().source[id] != id || is_joined(ground, id)) continue;
      const auto [found, fresh] = group_of.emplace(affines.group[id], groups_.size());
      if (fresh) {
        groups_.emplace_back().range =
            represented_range(affines.by_value[id].value(), limits_of(scheme_));
      }
      groups_[found->second].tensors.push_back(tensors_.size());
      tensors_.push_back({ground.graph().value(id).name, found->second});
      Group& group = groups_[found->second];
      group.given = group.given || given.contains(tensors_.back().tensor);
      compile.observe.push_back(tensors_.back().tensor);
    }
    const std::vector<Tensor> first = first_sample(samples, run.preprocess, run.bad_images);
    pair_ = compile_pair(network, &int8, shapes_of(first), 1);
    plan_ = network.compile(input_shapes(*pair_.fp32), compile);
  }

  /// Measures the noise of every range as it is. Then does the same with narrower and wider ranges
  /// for each range that causes enough noise.
  void tune() {
    total_.resize(static_cast<std::size_t>(samples_.size()));
    std::vector<Attempt> attempts;
    for (std::size_t g = 0; g < groups_.size(); ++g) attempts.push_back({g, kOwn});
    measure(attempts, &bad_);
    for (Group& group : groups_) {
      group.tried = !group.given && *group.noise[kOwn] >= kWorthTrying;
    }
    for (;;) {
      attempts.clear();
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (const auto factor = groups_[g].next()) attempts.push_back({g, *factor});
      }
      if (attempts.empty()) return;
      measure(attempts, nullptr);
      for (Group& group : groups_) {
        for (std::size_t f = 0; f < group.noise.size(); ++f) {
          if (group.noise[f] && *group.noise[f] < *group.noise[group.best]) group.best = f;
        }
      }
    }
  }

  [[nodiscard]] std::int64_t tried() const {
    return std::count_if(groups_.begin(), groups_.end(), [](const Group& g) { return g.tried; });
  }

  /// The tuned ranges that cause clearly less noise than the ranges as they are.
  [[nodiscard]] TunedRanges ranges() const {
    TunedRanges ranges;
    for (const Group& group : groups_) {
      if (*group.noise[group.best] > kWorthChanging * *group.noise[kOwn]) continue;
      for (const std::size_t t : group.tensors) {
        ranges.emplace(tensors_[t].tensor, scaled(group.range, group.best));
      }
    }
    return ranges;
  }

  [[nodiscard]] std::vector<BadImage> bad() && { return std::move(bad_); }

 private:
  struct Worker {
    explicit Worker(const std::shared_ptr<const Plan>& plan) : replay(plan, nullptr) {}
    Replay replay;
    Workspace int8;
    KeptOutputs reference;
  };

  static bool is_joined(const Groundwork& ground, ValueId id) {
    const NodeId producer = ground.graph().value(id).producer;
    if (producer == kNoNode || !ground.graph().node(producer).is("Concat")) return false;
    const IdMap<ValueId, ValueId>& group = ground.activations().group;
    const ValueId first = ground.graph().node(producer).inputs.front();
    return group[first] == group[id];
  }

  static Range scaled(const Range& range, std::size_t factor) {
    const auto times = [&](float x) {
      return static_cast<float>(static_cast<double>(x) * kRangeFactors[factor]);
    };
    return {times(range.min), times(range.max)};
  }

  /// Measures the noise of each attempt as a share of the noise of the INT8 model, averaged over
  /// samples and outputs.
  void measure(const std::vector<Attempt>& attempts, std::vector<BadImage>* bad) {
    const auto entries = static_cast<std::size_t>(samples_.size());
    std::vector<std::vector<double>> noise(entries);
    std::vector<std::unique_ptr<Worker>> workers(
        static_cast<std::size_t>(sample_workers(samples_, run_)));
    std::vector<BadImage> left_out = for_each_sample(
        samples_, run_, *plan_, "tuning of ranges",
        [&](std::size_t entry, std::span<const TensorView> inputs, int index) {
          std::unique_ptr<Worker>& worker = workers[static_cast<std::size_t>(index)];
          if (worker == nullptr) worker = std::make_unique<Worker>(plan_);
          worker->reference.keep(worker->replay.run(inputs));
          if (total_[entry].empty()) {
            total_[entry] = worker->reference.compare(pair_.int8->run(inputs, worker->int8));
          }
          noise[entry] = noise_of(attempts, total_[entry], *worker);
        });
    if (bad != nullptr) *bad = std::move(left_out);
    done_ += samples_.size();
    for (std::size_t p = 0; p < attempts.size(); ++p) {
      double sum = 0.0;
      double count = 0.0;
      for (const std::vector<double>& by_attempt : noise) {
        if (by_attempt.empty() || !std::isfinite(by_attempt[p])) continue;
        sum += by_attempt[p];
        count += 1.0;
      }
      groups_[attempts[p].group].noise[attempts[p].factor] = count > 0.0 ? sum / count : 0.0;
    }
  }

  std::vector<double> noise_of(const std::vector<Attempt>& attempts,
                               std::span<const SqnrSums> total, Worker& worker) const {
    std::vector<double> noise;
    for (const Attempt& attempt : attempts) {
      const Group& group = groups_[attempt.group];
      const Affine affine = choose_affine(scaled(group.range, attempt.factor), scheme_);
      double sum = 0.0;
      for (const std::size_t t : group.tensors) {
        check_stop(run_.stop);
        const QuantizedActivation rounding{tensors_[t].tensor, affine, limits_of(scheme_)};
        sum += share_of(worker.reference.compare(worker.replay.run_changed(
                            t,
                            [&](const TensorView& original, std::byte* out) {
                              round_values(rounding, original.values<float>(),
                                           reinterpret_cast<float*>(out));
                            })),
                        total);
      }
      noise.push_back(sum);
    }
    return noise;
  }

  /// The noise of `outputs` as a share of `total`, the noise of the INT8 model. The mean is over
  /// the outputs on which the INT8 model has noise.
  static double share_of(std::span<const SqnrSums> outputs, std::span<const SqnrSums> total) {
    double sum = 0.0;
    double count = 0.0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (!(total[o].noise > 0.0)) continue;
      sum += outputs[o].noise / total[o].noise;
      count += 1.0;
    }
    return count > 0.0 ? sum / count : 0.0;
  }

  Scheme scheme_;
  const Samples& samples_;
  const SampleRunOptions& run_;
  std::int64_t& done_;            // samples of all passes, for the progress
  std::vector<Rounded> tensors_;  // in the order in which the plan observes them
  std::vector<Group> groups_;
  ModelPair pair_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::vector<SqnrSums>> total_;  // noise of the INT8 model, by sample and output
  std::vector<BadImage> bad_;
};

/// The mean SQNR of each output on the samples.
std::vector<double> judge(const Executor& fp32, const Executor& int8, const Samples& samples,
                          const SampleRunOptions& run) {
  EvalOptions options;
  options.preprocess = run.preprocess;
  options.bad_images = run.bad_images;
  options.labels = LabelSource::kFolders;  // the labels may be for another network
  options.threads = run.threads;
  options.progress = run.progress;
  std::vector<double> decibels;
  for (const OutputError& output : evaluate(fp32, &int8, samples, options).outputs) {
    decibels.push_back(output.sqnr_db);
  }
  return decibels;
}

/// The options with a progress that counts `total` items over all passes. `done`: items of the
/// passes that are finished.
SampleRunOptions counting(const SampleRunOptions& run, const std::int64_t& done,
                          std::int64_t total) {
  SampleRunOptions counted = run;
  if (!run.progress) return counted;
  counted.progress = [&run, &done, total](std::int64_t part, std::int64_t) {
    return run.progress(done + part, total);
  };
  return counted;
}

Executor executor_of(Quantized quantized, const StopCheck& stop) {
  return Executor(prepare(std::move(quantized.graph), stop), stop);
}

}  // namespace

RangeTuning tune_ranges(const Executor& fp32, const CalibrationTable& table,
                        const StaticOptions& options, const Learned& learned,
                        const Samples& samples, const SampleRunOptions& run) {
  RangeTuning result;
  const Groundwork ground = lay_groundwork(fp32.graph(), table, options, learned);
  if (ground.placement().quantized.empty()) return result;
  const bool has_both = samples.size() > 1;
  const Samples tuning = has_both ? samples.part(0, 2).spread(kMaxTuned) : samples;
  const Samples judging = has_both ? samples.part(1, 2).spread(kMaxJudged) : samples;
  const Executor network(ground.graph(), run.stop);
  const Executor before = executor_of(quantize(fp32.graph(), table, options, learned), run.stop);
  std::int64_t done = 0;  // samples of all passes that are finished
  const std::int64_t all = kMaxPasses * tuning.size() + 2 * judging.size();
  const SampleRunOptions counted = counting(run, done, all);
  Tuner tuner(ground, network, before, tuning, counted, done);
  tuner.tune();
  done = kMaxPasses * tuning.size();
  result.tried = tuner.tried();
  result.ranges = tuner.ranges();
  result.bad = std::move(tuner).bad();
  const std::vector<double> old_db = judge(fp32, before, judging, counted);
  result.before_db = result.after_db = mean_of(old_db);
  if (result.ranges.empty()) return result;
  Learned tuned = learned;
  for (const auto& [tensor, range] : result.ranges) tuned.tuned_ranges[tensor] = range;
  const Executor after = executor_of(quantize(fp32.graph(), table, options, tuned), run.stop);
  done += judging.size();
  const std::vector<double> new_db = judge(fp32, after, judging, counted);
  result.after_db = mean_of(new_db);
  result.refused = !(result.after_db >= result.before_db + kMinRangeGainDb);
  for (std::size_t o = 0; o < old_db.size(); ++o) {
    result.refused = result.refused || new_db[o] < old_db[o] - kMaxLossDb;
  }
  if (result.refused) result.ranges.clear();
  return result;
}

}  // namespace qtool
