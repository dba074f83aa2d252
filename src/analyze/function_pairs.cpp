#include "qtool/analyze/function_pairs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analyze/sample_batch.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/output_noise.h"
#include "compare/quantized_parts.h"
#include "compare/sample_runs.h"
#include "compare/tensor_rounding.h"
#include "exec/replay.h"
#include "qtool/exec/executor.h"
#include "quantize/placement/placement.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

constexpr std::int64_t kMostMeasured = 4;
constexpr double kMostSeconds = 5.0;  // for the samples after the first one

/// The first target that runs functions inside products; null if there is none.
const Target* target_without_pairs() {
  const auto found = std::ranges::find_if(
      targets(), [](const Target& target) { return !target.function_producers.empty(); });
  return found == targets().end() ? nullptr : &*found;
}

bool is_for(const Graph& int8, const Target& target) {
  const auto found = int8.info.metadata.find(std::string(kTargetKey));
  return found != int8.info.metadata.end() && found->second == target.name;
}

/// The tensors that `int8` rounds and that a function inside a product reads for `target`.
std::vector<QuantizedActivation> pairs_before_functions(const Executor& fp32, const Executor& int8,
                                                        const Target& target,
                                                        std::span<const std::string> exclude) {
  std::set<std::string_view> names;
  const Graph& graph = fp32.graph();
  PlacementOptions options;
  options.exclude.assign(exclude.begin(), exclude.end());
  const Placement placement = place(graph, target, options);
  for (const ElementFunction& function : placement.inner_functions) {
    names.insert(graph.value(function.input).name);
  }
  std::vector<QuantizedActivation> found;
  if (names.empty()) return found;
  for (QuantizedActivation& one : quantized_parts(graph, int8.graph()).activations) {
    if (names.contains(one.tensor)) found.push_back(std::move(one));
  }
  return found;
}

/// The sums of one sample.
struct PairSums {
  std::vector<SqnrSums> int8{};                  ///< [output]
  std::vector<std::vector<SqnrSums>> tensors{};  ///< [tensor][output]
};

void add_sums(std::vector<SqnrSums>& sums, const std::vector<SqnrSums>& more) {
  sums.resize(more.size());
  for (std::size_t o = 0; o < more.size(); ++o) sums[o] += more[o];
}

}  // namespace

double FunctionPairs::share() const {
  double sum = 0.0;
  for (const Cost& cost : costs) sum += cost.share;
  return sum;
}

std::optional<FunctionPairs> function_pairs(const Executor& fp32, const Executor& int8,
                                            std::span<const std::string> exclude,
                                            const Samples& samples, const SampleRunOptions& run) {
  const Target* target = target_without_pairs();
  if (target == nullptr || is_for(int8.graph(), *target)) return std::nullopt;
  const std::vector<QuantizedActivation> pairs =
      pairs_before_functions(fp32, int8, *target, exclude);
  if (pairs.empty()) return std::nullopt;
  const Samples some = samples.spread(std::min(kMostMeasured, samples.size()));
  const auto shapes = shapes_of(first_sample(some, run.preprocess, run.bad_images));
  const ModelPair models = compile_pair(fp32, &int8, shapes, 1);
  CompileOptions compile;
  compile.threads = 1;
  compile.keep = true;
  for (const QuantizedActivation& pair : pairs) compile.observe.push_back(pair.tensor);
  const std::shared_ptr<const Plan> plan = fp32.compile(input_shapes(*models.fp32), compile);

  std::vector<PairSums> by_sample;
  const auto body = [&](std::size_t /*entry*/, std::span<const TensorView> inputs, int /*worker*/) {
    Replay replay(plan, nullptr);
    Workspace workspace;
    KeptOutputs reference;
    PairSums& sums = by_sample.emplace_back();
    reference.keep(replay.run(inputs));
    sums.int8 = reference.compare(models.int8->run(inputs, workspace));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      check_stop(run.stop);
      sums.tensors.push_back(
          reference.compare(replay.run_changed(i, [&](const TensorView& original, std::byte* out) {
            LevelCounts counts;
            ChannelRanges channels;
            static_cast<void>(
                round_tensor(pairs[i], original, reinterpret_cast<float*>(out), counts, channels));
          })));
    }
  };
  // One after the other: each keeps all tensors of the network.
  SampleRunOptions one = run;
  one.threads = 1;
  const Stopwatch since_begin;
  for (std::int64_t i = 0; i < some.size(); ++i) {
    const double next = since_begin.seconds() / static_cast<double>(std::max<std::int64_t>(i, 1));
    if (since_begin.seconds() + next > kMostSeconds && i > 0) break;
    static_cast<void>(for_each_sample(some.part(i, some.size()), one, *models.fp32,
                                      "measurement of pairs before functions", body));
  }

  FunctionPairs result;
  result.target = target->name;
  std::vector<SqnrSums> whole;
  std::vector<std::vector<SqnrSums>> alone(pairs.size());
  for (const PairSums& sums : by_sample) {
    ++result.samples;
    add_sums(whole, sums.int8);
    for (std::size_t i = 0; i < pairs.size(); ++i) add_sums(alone[i], sums.tensors[i]);
  }
  const double noise = noise_of(whole);
  if (result.samples == 0 || !std::isfinite(noise) || noise <= 0.0) return std::nullopt;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double share = noise_of(alone[i]) / noise;
    if (std::isfinite(share)) result.costs.push_back({pairs[i].tensor, share});
  }
  if (result.costs.empty()) return std::nullopt;
  std::ranges::stable_sort(result.costs, std::ranges::greater{}, &FunctionPairs::Cost::share);
  return result;
}

}  // namespace qtool
