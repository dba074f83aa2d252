#include "qtool/measure/analyze.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "exec/replay.h"
#include "exec/step_of.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "measure/metrics.h"
#include "measure/model_pair.h"
#include "measure/output_noise.h"
#include "measure/quantized_parts.h"
#include "measure/sample_runs.h"
#include "measure/tensor_rounding.h"
#include "qtool/base/error.h"
#include "qtool/measure/evaluate.h"

namespace qtool {
namespace {

/// The sums of one sample: per source and output, and of the INT8 model.
struct SampleSums {
  bool usable = false;
  std::vector<SqnrSums> int8;             // per output
  std::vector<SqnrSums> sources;          // source * outputs + output
  std::vector<TensorRounding> roundings;  // per activation
};

class Analysis {
 public:
  Analysis(const Executor& fp32, const Executor& int8, const Samples& samples,
           const AnalyzeOptions& options, std::span<const Shape> shapes)
      : samples_(samples),
        options_(options),
        parts_(quantized_parts(fp32.graph(), int8.graph())),
        variant_(parts_.with_weights),
        pair_(compile_pair(fp32, &int8, shapes, 1)),
        sums_(static_cast<std::size_t>(samples.size())),
        peaks_(parts_.activations.size()) {
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
    plan_ = fp32.compile(shapes_by_name, compile);
    variant_plan_ = variant_.compile(shapes_by_name, compile);
    for (const NodeId node : parts_.weighted) {
      const std::optional<std::size_t> step = step_of(plan_->steps(), fp32.graph(), node);
      if (!step) {
        parts_.not_compared.emplace_back(name_of(fp32.graph(), node));
        continue;
      }
      weighted_.push_back({node, *step});
    }
  }

  void run() {
    std::vector<std::unique_ptr<Worker>> state(
        static_cast<std::size_t>(sample_workers(samples_, options_)));
    bad_ = for_each_sample(samples_, options_, *plan_, "analysis",
                           [&](std::size_t entry, std::span<const TensorView> inputs, int worker) {
                             if (entry > 0 && options_.enough && options_.enough()) return;
                             std::unique_ptr<Worker>& own = state[static_cast<std::size_t>(worker)];
                             if (own == nullptr) {
                               own = std::make_unique<Worker>(plan_, variant_plan_, peaks_.size());
                             }
                             run_sample(inputs, sums_[entry], *own);
                           });
    // The largest of all, in whatever order.
    for (const std::unique_ptr<Worker>& worker : state) {
      for (std::size_t i = 0; worker != nullptr && i < peaks_.size(); ++i) {
        const std::vector<float>& peaks = worker->peaks[i];
        peaks_[i].resize(std::max(peaks_[i].size(), peaks.size()), 0.0F);
        for (std::size_t c = 0; c < peaks.size(); ++c) {
          peaks_[i][c] = std::max(peaks_[i][c], peaks[c]);
        }
      }
    }
  }

  AnalyzeResult result(const Graph& graph) const {
    AnalyzeResult result;
    result.noun = samples_.noun();
    result.not_compared = parts_.not_compared;
    result.bad = bad_;
    const std::size_t outputs = pair_.fp32->outputs().size();
    std::vector<SqnrSums> int8(outputs);
    std::vector<SqnrSums> sources((parts_.activations.size() + weighted_.size()) * outputs);
    std::vector<TensorRounding> roundings(parts_.activations.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (!sums_[i].usable) continue;
      ++result.images;
      for (std::size_t k = 0; k < int8.size(); ++k) int8[k] += sums_[i].int8[k];
      for (std::size_t k = 0; k < sources.size(); ++k) sources[k] += sums_[i].sources[k];
      for (std::size_t k = 0; k < roundings.size(); ++k) roundings[k] += sums_[i].roundings[k];
    }
    result.noise = noise_of(int8);
    result.sqnr_db = noise_decibels(result.noise);
    for (std::size_t s = 0; s * outputs < sources.size(); ++s) {
      ErrorSource source;
      const bool activation = s < parts_.activations.size();
      source.kind = activation ? SourceKind::kActivation : SourceKind::kWeights;
      const NodeId node =
          activation ? graph.value(*graph.find_value(parts_.activations[s].tensor)).producer
                     : weighted_[s - parts_.activations.size()].node;
      if (node != kNoNode) {
        source.node = name_of(graph, node);
        source.op_type = graph.node(node).op_type;
      }
      source.name = activation ? parts_.activations[s].tensor : source.node;
      source.noise = noise_of(std::span(sources).subspan(s * outputs, outputs));
      source.sqnr_db = noise_decibels(source.noise);
      source.share = result.noise > 0.0 ? source.noise / result.noise : 0.0;
      result.explained += source.share;
      if (activation) {
        describe(roundings[s], parts_.activations[s], source);
        describe_channels(peaks_[s], source);
      }
      result.sources.push_back(std::move(source));
    }
    add_layers(graph, result);
    // What is no number is the loudest: nothing compares with it, and nothing is worse.
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
  struct Worker {
    Worker(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<const Plan>& variant,
           std::size_t activations)
        : replay(plan, variant), peaks(activations) {}
    Replay replay;
    Workspace int8;
    KeptOutputs reference;
    std::vector<std::vector<float>> peaks;  // per activation and channel
  };
  struct Weighted {
    NodeId node;
    std::size_t step;
  };

  /// Of sources that stand in the order of the parts.
  void add_layers(const Graph& graph, AnalyzeResult& result) const {
    std::unordered_map<std::string_view, double> noise_of_tensor;
    for (const ErrorSource& source : result.sources) {
      if (source.kind == SourceKind::kActivation) noise_of_tensor[source.name] = source.noise;
    }
    for (std::size_t i = 0; i < weighted_.size(); ++i) {
      const ErrorSource& weights = result.sources[parts_.activations.size() + i];
      LayerNoise layer{weights.name, weights.noise};
      const Node& node = graph.node(weighted_[i].node);
      const auto noise_of_value = [&](ValueId value) -> std::optional<double> {
        const auto found = noise_of_tensor.find(graph.value(value).name);
        if (found == noise_of_tensor.end()) return std::nullopt;
        return found->second;
      };
      ValueId read = node.inputs.front();
      while (read != kNoValue && !noise_of_value(read)) {
        // Integers that were only moved since.
        const NodeId producer = graph.value(read).producer;
        const bool moved =
            producer != kNoNode && traits_of(graph.node(producer)).kind == OpKind::kMoving;
        read = moved ? graph.node(producer).inputs.front() : kNoValue;
      }
      ValueId written = first_output(node);
      if (written != kNoValue && !noise_of_value(written)) {
        // An activation function that runs inside the layer.
        const std::vector<NodeId>& readers = graph.consumers(written);
        const bool fused =
            readers.size() == 1 && traits_of(graph.node(readers[0])).kind == OpKind::kElementwise;
        written = fused ? first_output(graph.node(readers[0])) : kNoValue;
      }
      for (const ValueId value : {read, written}) {
        if (value != kNoValue) layer.noise += noise_of_value(value).value_or(0.0);
      }
      result.layers.push_back(std::move(layer));
    }
  }

  static void describe_channels(const std::vector<float>& peaks, ErrorSource& source) {
    source.channels = std::ssize(peaks);
    std::vector<double> alive;
    for (std::size_t c = 0; c < peaks.size(); ++c) {
      if (peaks[c] == 0.0F) {
        ++source.dead_channels;
        continue;
      }
      alive.push_back(static_cast<double>(peaks[c]));
      if (alive.back() <= source.loudest_peak) continue;
      source.loudest_peak = alive.back();
      source.loudest_channel = static_cast<std::int64_t>(c);
    }
    source.median_peak = median(std::move(alive));
  }

  static void describe(const TensorRounding& rounding, const QuantizedActivation& activation,
                       ErrorSource& source) {
    source.local_sqnr_db = rounding.sums.decibels();
    source.scaled = !activation.factors.empty();
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

  void run_sample(std::span<const TensorView> inputs, SampleSums& sums, Worker& worker) {
    worker.reference.keep(worker.replay.run(inputs));
    sums.usable = true;
    sums.int8 = worker.reference.compare(pair_.int8->run(inputs, worker.int8));
    const auto keep = [&](std::span<const TensorView> outputs) {
      const std::vector<SqnrSums> compared = worker.reference.compare(outputs);
      sums.sources.insert(sums.sources.end(), compared.begin(), compared.end());
    };
    for (std::size_t i = 0; i < parts_.activations.size(); ++i) {
      check_stop(options_.stop);
      keep(worker.replay.run_changed(i, [&](const TensorView& original, std::byte* out) {
        sums.roundings.push_back(round_tensor(parts_.activations[i], original,
                                              reinterpret_cast<float*>(out), worker.peaks[i]));
      }));
    }
    for (const Weighted& weighted : weighted_) {
      check_stop(options_.stop);
      keep(worker.replay.run_variant(weighted.step));
    }
  }

  const Samples& samples_;
  const AnalyzeOptions& options_;
  QuantizedParts parts_;
  Executor variant_;  // FP32 with the weights of the INT8 model
  ModelPair pair_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Plan> variant_plan_;
  std::vector<Weighted> weighted_;
  std::vector<SampleSums> sums_;           // per entry
  std::vector<std::vector<float>> peaks_;  // per activation and channel
  std::vector<BadImage> bad_;
};

}  // namespace

AnalyzeResult analyze(const Executor& fp32, const Executor& int8, const Samples& samples,
                      const AnalyzeOptions& options) {
  check(options.preprocess);
  Analysis analysis(fp32, int8, samples, options,
                    shapes_of(first_sample(samples, options.preprocess, options.bad_images)));
  analysis.run();
  return analysis.result(fp32.graph());
}

}  // namespace qtool
