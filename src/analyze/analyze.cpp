#include "qtool/analyze/analyze.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/accumulated_error.h"
#include "analyze/analysis_sums.h"
#include "analyze/sample_batch.h"
#include "analyze/weight_channels.h"
#include "base/stop.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/output_noise.h"
#include "compare/quantized_parts.h"
#include "compare/sample_runs.h"
#include "compare/tensor_rounding.h"
#include "exec/replay.h"
#include "exec/step_of.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

class Analysis {
 public:
  Analysis(const Executor& fp32, const Executor& int8, const Samples& samples,
           const AnalyzeOptions& options, std::span<const Tensor> first)
      : samples_(samples),
        options_(options),
        parts_(quantized_parts(fp32.graph(), int8.graph())),
        variant_(parts_.with_weights),
        without_biases_(parts_.without_biases),
        pair_(compile_pair(fp32, &int8, shapes_of(first), 1)),
        accumulated_(fp32, int8, parts_.activations, input_shapes(*pair_.int8)),
        block_(std::min(kSampleBlock, static_cast<std::size_t>(samples.size()))),
        channels_(parts_.activations.size()),
        counts_(parts_.activations.size()) {
    if (parts_.activations.empty() && parts_.weighted.empty()) {
      throw Error(ErrorCode::kMismatch,
                  "the INT8 model changes no tensor and no weight of the FP32 model: found no "
                  "common names; do they belong together?");
    }
    CompileOptions compile;
    compile.threads = 1;
    compile.keep = true;
    for (const QuantizedActivation& activation : parts_.activations) {
      compile.observe.push_back(activation.tensor);
    }
    const InputShapes shapes_by_name = input_shapes(*pair_.fp32);
    alone_.plan = fp32.compile(shapes_by_name, compile);
    together_.plan = together_plan(fp32, compile, *alone_.plan, first);
    for (Plans* plans : {&alone_, &together_}) {
      if (plans->plan == nullptr) continue;
      const InputShapes of_plan = input_shapes(*plans->plan);
      plans->variant = variant_.compile(of_plan, compile);
      plans->without_biases = without_biases_.compile(of_plan, compile);
    }
    const StepsOfNodes steps_of(alone_.plan->steps(), fp32.graph());
    for (const NodeId node : parts_.weighted) {
      const std::optional<std::size_t> step = steps_of.step_of(node);
      if (!step) {
        parts_.not_compared.emplace_back(name_of(fp32.graph(), node));
        continue;
      }
      Weighted weighted{node, *step, {}};
      if (parts_.other_weights.contains(node) && parts_.other_bias.contains(node)) {
        weighted.both = both_++;
      }
      weighted_.push_back(weighted);
    }
  }

  void run() {
    std::vector<std::unique_ptr<Worker>> state(
        static_cast<std::size_t>(sample_workers(samples_, options_)));
    const auto body = [&](std::span<const LoadedSample> group, int worker) {
      if (group.front().entry > 0 && options_.enough && options_.enough()) return;
      std::unique_ptr<Worker>& own = state[static_cast<std::size_t>(worker)];
      if (own == nullptr) own = std::make_unique<Worker>(channels_.size());
      const bool is_alone = group.size() == 1;
      std::unique_ptr<Replay>& replay = is_alone ? own->alone : own->together;
      const Plans& plans = is_alone ? alone_ : together_;
      if (replay == nullptr) {
        replay = std::make_unique<Replay>(plans.plan, plans.variant);
        replay->add_variant(plans.without_biases);
      }
      run_group(group, *replay, *own);
    };
    const auto merge = [&](std::size_t begin, std::size_t end) {
      for (std::size_t entry = begin; entry < end; ++entry) {
        sums_.add(std::exchange(block_[entry % block_.size()], {}));
      }
    };
    bad_ = for_each_group(samples_, options_, *alone_.plan, "analysis",
                          together_.plan == nullptr ? 1 : kRunTogether, body, merge);
    // Extremes and counts are the same in any order of the workers.
    for (const std::unique_ptr<Worker>& worker : state) {
      for (std::size_t i = 0; worker != nullptr && i < channels_.size(); ++i) {
        widen_channels(worker->channels[i], channels_[i]);
        counts_[i] += worker->counts[i];
      }
    }
  }

  AnalyzeResult result(const Graph& graph) const {
    AnalyzeResult result;
    result.noun = samples_.noun();
    result.not_compared = parts_.not_compared;
    result.bad = bad_;
    result.passed_over = samples_.passed_over();
    result.images = sums_.images();
    result.noise = sums_.noise();
    result.sqnr_db = noise_decibels(result.noise);
    result.sqnr_interval_db = sums_.interval_db();
    for (std::size_t o = 0; o < pair_.fp32->outputs().size(); ++o) {
      AnalyzedOutput output{pair_.fp32->outputs()[o].name, sums_.outputs().at(o).decibels()};
      if (o < sums_.output_pairs().size()) output.pairs = sums_.output_pairs()[o];
      result.outputs.push_back(std::move(output));
    }
    const auto add = [&](ErrorSource source, NodeId node, double noise) {
      if (node != kNoNode) {
        source.node = name_of(graph, node);
        source.op_type = graph.node(node).op_type;
      }
      if (source.kind != SourceKind::kActivation) source.name = source.node;
      source.noise = noise;
      source.sqnr_db = noise_decibels(noise);
      source.share = result.noise > 0.0 ? source.noise / result.noise : 0.0;
      result.explained += source.share;
      result.sources.push_back(std::move(source));
    };
    for (std::size_t i = 0; i < parts_.activations.size(); ++i) {
      ErrorSource source;
      source.name = parts_.activations[i].tensor;
      describe(sums_.rounding(i), parts_.activations[i], source);
      source.levels = counts_[i].histogram(parts_.activations[i]);
      source.central = central_range(source.levels, source.seen, kCentralShare);
      describe_channels(channels_[i], source);
      if (accumulated_.has(i)) {
        source.accumulated_sqnr_db = sums_.accumulated().tensors.at(i).decibels();
        if (i < sums_.accumulated().pairs.size()) source.pairs = sums_.accumulated().pairs[i];
      }
      add(std::move(source), graph.value(*graph.find_value(parts_.activations[i].tensor)).producer,
          sums_.noise_of_source(i));
    }
    for (std::size_t i = 0; i < weighted_.size(); ++i) {
      const Weighted& weighted = weighted_[i];
      const std::size_t number = parts_.activations.size() + i;
      const double noise = sums_.noise_of_source(number);
      const bool other_weights = parts_.other_weights.contains(weighted.node);
      double alone = other_weights ? noise : 0.0;
      if (weighted.both) alone = noise * sums_.part_of_weights(*weighted.both, number);
      // Where the bias compensates for errors of the weights, all noise is attributed to the
      // weights.
      const double weights = std::min(alone, noise);
      ErrorSource source;
      source.corrected = alone - weights;
      source.kind = SourceKind::kWeights;
      describe_weights(graph, parts_.with_weights, weighted.node, source);
      if (other_weights) add(source, weighted.node, weights);
      source = {};
      source.kind = SourceKind::kBias;
      if (noise > weights) add(source, weighted.node, noise - weights);
    }
    add_layers(graph, result);
    // NaN is sorted as infinity, because NaN cannot be compared, and no noise is worse.
    const auto loudness = [](double noise) {
      return std::isnan(noise) ? std::numeric_limits<double>::infinity() : noise;
    };
    const auto louder = [&](const auto& a, const auto& b) {
      return loudness(a.noise) > loudness(b.noise);
    };
    std::stable_sort(result.sources.begin(), result.sources.end(), louder);
    std::stable_sort(result.layers.begin(), result.layers.end(), louder);
    return result;
  }

 private:
  /// The plans of FP32, and of FP32 with the weights of INT8, for as many samples as run together.
  struct Plans {
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<const Plan> variant;
    std::shared_ptr<const Plan> without_biases;
  };
  struct Worker {
    explicit Worker(std::size_t activations) : channels(activations), counts(activations) {}
    std::unique_ptr<Replay> alone;
    std::unique_ptr<Replay> together;
    Workspace int8;
    std::vector<KeptOutputs> references;  // per sample of the group
    std::vector<ChannelRanges> channels;  // per activation
    std::vector<LevelCounts> counts;      // per activation
    std::vector<TensorView> reals;        // per activation
  };
  struct Weighted {
    NodeId node;
    std::size_t step;
    std::optional<std::size_t> both;  // number among nodes with changed weights and bias
  };

  void add_layers(const Graph& graph, AnalyzeResult& result) const {
    std::unordered_map<std::string_view, double> noise_of_tensor;
    std::unordered_map<std::string_view, LayerNoise> of_node;
    for (const ErrorSource& source : result.sources) {
      LayerNoise& layer = of_node[source.node];
      if (source.kind == SourceKind::kActivation) noise_of_tensor[source.name] = source.noise;
      if (source.kind == SourceKind::kWeights) {
        layer.weights = source.noise;
        layer.corrected = source.corrected;
      }
      if (source.kind == SourceKind::kBias) layer.bias = source.noise;
    }
    for (std::size_t i = 0; i < weighted_.size(); ++i) {
      LayerNoise layer = of_node[name_of(graph, weighted_[i].node)];
      layer.node = name_of(graph, weighted_[i].node);
      const Node& node = graph.node(weighted_[i].node);
      const auto noise_of_value = [&](ValueId value) -> std::optional<double> {
        const auto found = noise_of_tensor.find(graph.value(value).name);
        if (found == noise_of_tensor.end()) return std::nullopt;
        return found->second;
      };
      ValueId read = node.inputs.front();
      while (read != kNoValue && !noise_of_value(read)) {
        // Go back over operators that only move elements.
        const NodeId producer = graph.value(read).producer;
        const bool moved =
            producer != kNoNode && traits_of(graph.node(producer)).kind == OpKind::kMoving;
        read = moved ? graph.node(producer).inputs.front() : kNoValue;
      }
      ValueId written = first_output(node);
      if (written != kNoValue && !noise_of_value(written)) {
        // Go on to an activation function that is fused into the layer.
        const std::vector<NodeId>& readers = graph.consumers(written);
        const bool fused =
            readers.size() == 1 && traits_of(graph.node(readers[0])).kind == OpKind::kElementwise;
        written = fused ? first_output(graph.node(readers[0])) : kNoValue;
      }
      for (const ValueId value : {read, written}) {
        if (value != kNoValue) layer.activations += noise_of_value(value).value_or(0.0);
      }
      layer.noise = layer.weights + layer.bias + layer.activations;
      result.layers.push_back(std::move(layer));
    }
  }

  static void describe_channels(const ChannelRanges& channels, ErrorSource& source) {
    source.channels = std::ssize(channels);
    std::vector<double> alive;  // peaks of the channels that are not dead
    double narrowest = std::numeric_limits<double>::infinity();
    double widest = 0.0;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const Range& reached = channels[c];
      const auto peak = static_cast<double>(std::max(std::abs(reached.min), std::abs(reached.max)));
      if (!(peak > 0.0)) {
        ++source.dead_channels;
        continue;
      }
      if (reached.min == reached.max) ++source.constant_channels;
      const double width = std::max(0.0, static_cast<double>(reached.max)) -
                           std::min(0.0, static_cast<double>(reached.min));
      narrowest = std::min(narrowest, width);
      widest = std::max(widest, width);
      alive.push_back(peak);
      if (peak <= source.loudest_peak) continue;
      source.loudest_peak = peak;
      source.loudest_channel = static_cast<std::int64_t>(c);
    }
    source.median_peak = median(std::move(alive));
    if (!(widest > kUnevenChannels * narrowest)) return;
    for (const Range& reached : channels) {
      source.channel_ranges.push_back({std::min(reached.min, 0.0F), std::max(reached.max, 0.0F)});
    }
  }

  static void describe(const TensorRounding& rounding, const QuantizedActivation& activation,
                       ErrorSource& source) {
    source.local_sqnr_db = rounding.sums.decibels();
    source.scaled = !activation.divided.factors.empty();
    source.range = range_of(activation);
    const double integers = (static_cast<double>(source.range.max) - source.range.min) /
                            static_cast<double>(activation.affine.scale);
    source.seen = rounding.seen;
    if (rounding.count == 0) return;
    source.saturated_share =
        static_cast<double>(rounding.saturated) / static_cast<double>(rounding.count);
    source.used_share =
        std::min(1.0, static_cast<double>(rounding.highest - rounding.lowest) / integers);
  }

  /// Runs the samples of a group together.
  void run_group(std::span<const LoadedSample> group, Replay& replay, Worker& worker) {
    const std::size_t count = group.size();
    const auto sums_of = [&](std::size_t slot) -> SampleSums& {
      return block_[group[slot].entry % block_.size()];
    };
    worker.reals.resize(parts_.activations.size());
    worker.references.resize(count);
    const std::vector<Tensor> several = count > 1 ? stacked(group) : std::vector<Tensor>();
    const std::vector<Tensor>& inputs = count > 1 ? several : group.front().tensors;
    // The replay keeps every tensor until it runs the next group.
    const std::span<const TensorView> outputs =
        replay.run(views_of(inputs),
                   [&](std::size_t i, const TensorView& tensor) { worker.reals[i] = tensor; });
    for (std::size_t slot = 0; slot < count; ++slot) {
      worker.references[slot].keep(slots_of(outputs, slot, count));
      run_int8(group[slot], slots_of(worker.reals, slot, count), worker.references[slot],
               sums_of(slot), worker.int8);
    }
    const auto compare_to = [&](std::vector<SqnrSums> SampleSums::*into,
                                std::span<const TensorView> changed) {
      for (std::size_t slot = 0; slot < count; ++slot) {
        const std::vector<SqnrSums> compared =
            worker.references[slot].compare(slots_of(changed, slot, count));
        std::vector<SqnrSums>& sums = sums_of(slot).*into;
        sums.insert(sums.end(), compared.begin(), compared.end());
      }
    };
    for (std::size_t i = 0; i < parts_.activations.size(); ++i) {
      check_stop(options_.stop);
      compare_to(&SampleSums::sources,
                 replay.run_changed(i, [&](const TensorView& original, std::byte* out) {
                   for (std::size_t slot = 0; slot < count; ++slot) {
                     const TensorView part = slot_of(original, slot, count);
                     sums_of(slot).roundings.push_back(
                         round_tensor(parts_.activations[i], part,
                                      reinterpret_cast<float*>(out + (part.data - original.data)),
                                      worker.counts[i], worker.channels[i]));
                   }
                 }));
    }
    for (const Weighted& weighted : weighted_) {
      check_stop(options_.stop);
      compare_to(&SampleSums::sources, replay.run_variant(weighted.step));
    }
    // All samples of a group or none: groups begin at multiples of their size.
    if (group.back().entry >= kBiasImages) return;
    for (std::size_t slot = 0; slot < count; ++slot) sums_of(slot).compares_biases = true;
    for (const Weighted& weighted : weighted_) {
      if (!weighted.both) continue;
      check_stop(options_.stop);
      compare_to(&SampleSums::weights_alone, replay.run_variant(weighted.step, kWithoutBiases));
    }
  }

  /// Compares the whole INT8 model with FP32 on one sample.
  void run_int8(const LoadedSample& sample, std::span<const TensorView> reals,
                const KeptOutputs& reference, SampleSums& sums, Workspace& workspace) const {
    sums.usable = true;
    const std::span<const TensorView> outputs = accumulated_.run(
        views_of(sample.tensors), sample.entry, reals, workspace, sums.accumulated);
    sums.int8 = reference.compare(outputs);
    if (sample.entry < kPairImages) sums.output_pairs = reference.pairs(outputs, sample.entry);
  }

  static_assert(kBiasImages % kRunTogether == 0);
  static constexpr std::size_t kWithoutBiases = 1;  // number of the variant in the replay
  static constexpr double kCentralShare = 0.999;

  const Samples& samples_;
  const AnalyzeOptions& options_;
  QuantizedParts parts_;
  Executor variant_;         // FP32 with the weights of the INT8 model
  Executor without_biases_;  // FP32 with the INT8 weights, but the FP32 biases
  ModelPair pair_;
  AccumulatedErrors accumulated_;
  Plans alone_;
  Plans together_;  // null where samples cannot run together
  std::vector<Weighted> weighted_;
  std::size_t both_ = 0;           // number of nodes with changed weights and bias
  std::vector<SampleSums> block_;  // results of the samples since the last merge
  AnalysisSums sums_;
  std::vector<ChannelRanges> channels_;  // per activation
  std::vector<LevelCounts> counts_;      // per activation
  std::vector<BadImage> bad_;
};

}  // namespace

AnalyzeResult analyze(const Executor& fp32, const Executor& int8, const Samples& samples,
                      const AnalyzeOptions& options) {
  check(options.preprocess);
  Analysis analysis(fp32, int8, samples, options,
                    first_sample(samples, options.preprocess, options.bad_images));
  analysis.run();
  return analysis.result(fp32.graph());
}

}  // namespace qtool
