#include "on_images/round_on_images.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/floating_point_mode.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/partial_results.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "lower/specialize.h"
#include "on_images/known_layers.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "quantize/bias_correction.h"
#include "quantize/groundwork.h"
#include "quantize/placement/operands.h"
#include "quantize/rounding/input_moments.h"
#include "quantize/rounding/rounding.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

// The most vectors that go into the moments of a layer, over all images. More do not help: see
// docs/research/accuracy.md.
constexpr std::int64_t kMaxRows = 24'576;
// The most vectors of a layer that are kept as samples, for methods that need them, and their most
// bytes.
constexpr std::int64_t kMaxSampleRows = 8'192;
constexpr std::int64_t kMaxSampleBytes = std::int64_t{256} << 20;

/// The most vectors that a layer gets from one image.
std::int64_t rows_of_each(const Samples& samples) {
  return std::max<std::int64_t>(1, kMaxRows / std::max<std::int64_t>(samples.size(), 1));
}

/// A layer that waits to be rounded, with the data about its input.
struct WaitingLayer {
  NodeId node = kNoNode;
  WeightPorts ports;
  InputRows rows;
  InputMoments moments;
  InputSamples samples;        // with capacity 0 if none are to be kept
  std::int64_t most_rows = 0;  // vectors from one image
  bool is_rounded = false;     // known from before; needs no data

  /// Bytes of the moments and samples of the input.
  [[nodiscard]] std::int64_t bytes() const {
    return rows.moment_bytes() + samples.capacity * rows.row_bytes();
  }
};

/// The layers that become integers and whose input vectors can be read.
std::vector<WaitingLayer> waiting_layers(const Groundwork& ground) {
  std::vector<WaitingLayer> layers;
  const Graph& graph = ground.graph();
  std::unordered_map<std::string_view, int> uses;  // the rounded integers are stored by name
  for (const NodePlacement& placed : ground.placement().nodes) ++uses[name_of(graph, placed.id)];
  for (const NodePlacement& placed : ground.placement().nodes) {
    if (placed.role != NodeRole::kInteger || uses[name_of(graph, placed.id)] > 1) continue;
    const auto ports = weight_ports(graph, placed.id);
    if (!ports || graph.is_constant(graph.node(placed.id).inputs[0])) continue;
    std::optional<InputRows> rows = InputRows::of(graph, placed.id, *ports);
    if (!rows || rows->depth() == 0) continue;
    InputMoments moments;
    moments.groups = rows->groups();
    moments.depth = rows->depth();
    layers.push_back({placed.id, *ports, *std::move(rows), std::move(moments), {}});
  }
  return layers;
}

/// Makes room for samples in each layer whose moments and samples fit into `rounding_memory`
/// together.
void make_room_for_samples(std::vector<WaitingLayer>& layers, std::int64_t images,
                           std::int64_t rounding_memory) {
  for (WaitingLayer& layer : layers) {
    const std::int64_t row = std::max<std::int64_t>(layer.rows.row_bytes(), 1);
    const std::int64_t rows = std::min(kMaxSampleRows, kMaxSampleBytes / row);
    layer.samples.capacity = rows / std::max<std::int64_t>(images, 1) * images;
    if (layer.bytes() > rounding_memory) layer.samples.capacity = 0;
  }
}

/// Adds up the moments of some layers over all images. The inputs of layers that are rounded
/// already are observed too: which tensors are observed may change the last bits of others.
class MomentPass {
 public:
  MomentPass(const Executor& fp32, std::span<WaitingLayer> layers, const Samples& samples,
             const CollectOptions& collect)
      : fp32_(fp32), layers_(layers), samples_(samples), collect_(collect) {
    require_inputs_for(samples, fp32.graph());
    const Graph& graph = fp32.graph();
    for (const WaitingLayer& layer : layers) {
      const std::string& name = graph.value(graph.node(layer.node).inputs[0]).name;
      const auto found = std::find(options_.observe.begin(), options_.observe.end(), name);
      positions_.push_back(static_cast<std::size_t>(found - options_.observe.begin()));
      if (found == options_.observe.end()) options_.observe.push_back(name);
    }
    options_.threads = 1;
  }

  /// Runs all images. `each_image` is called after each image, by one thread at a time. Returns the
  /// number of usable images. The other images are added to `bad`, in the order of the list.
  std::int64_t run(const std::function<void()>& each_image, std::vector<BadImage>& bad) {
    const int threads = resolve_threads(collect_.threads);
    const std::int64_t count = samples_.size();
    std::vector<Workspace> workspaces(static_cast<std::size_t>(threads));
    // These keep their memory from one image to the next.
    std::vector<ImageRows> rows(static_cast<std::size_t>(threads), ImageRows(layers_.size()));
    std::int64_t used = 0;
    // Runs one image per thread at a time. Each layer then adds the vectors of these images in the
    // order of the list, so that the number of threads does not change the result.
    for (std::int64_t begin = 0; begin < count; begin += threads) {
      const std::int64_t part = std::min<std::int64_t>(threads, count - begin);
      std::vector<std::vector<BadImage>> left_out(static_cast<std::size_t>(part));
      std::vector<char> usable(left_out.size());  // not bool: threads write neighbours
      parallel_items(part, threads, [&](std::int64_t i, int worker) {
        const auto at = static_cast<std::size_t>(i);
        const bool read = read_rows(begin + i, workspaces[static_cast<std::size_t>(worker)],
                                    rows[at], left_out[at]);
        usable[at] = read ? 1 : 0;
        const std::lock_guard lock(mutex_);
        each_image();
      });
      used += std::count(usable.begin(), usable.end(), 1);
      for (auto& some : left_out) std::move(some.begin(), some.end(), std::back_inserter(bad));
      parallel_items(std::ssize(layers_), threads, [&](std::int64_t layer, int) {
        const auto l = static_cast<std::size_t>(layer);
        WaitingLayer& to = layers_[l];
        if (to.is_rounded) return;
        for (std::size_t i = 0; i < usable.size(); ++i) {
          if (usable[i] == 0) continue;
          add_rows(rows[i][l], to.moments);
          if (to.samples.capacity == 0) continue;
          add_samples(rows[i][l], to.moments.groups, to.moments.depth, to.samples.capacity / count,
                      to.samples);
        }
      });
    }
    return used;
  }

 private:
  using ImageRows = std::vector<std::vector<float>>;  // by layer

  // Returns whether the image is usable.
  bool read_rows(std::int64_t item, Workspace& workspace, ImageRows& rows,
                 std::vector<BadImage>& bad) const {
    const std::optional<std::vector<Tensor>> sample =
        samples_.load(item, collect_.preprocess, collect_.bad_images, bad);
    if (!sample) return false;
    const FlushDenormals flush;
    const std::vector<TensorView> views = views_of(*sample);
    fp32_.compile(shapes_for(samples_, fp32_.graph(), *sample), options_)
        ->run(views, workspace, [&](std::size_t position, const TensorView& tensor) {
          for (std::size_t l = 0; l < layers_.size(); ++l) {
            if (positions_[l] != position || layers_[l].is_rounded) continue;
            layers_[l].rows.gather(tensor, rows_of_each(samples_), rows[l]);
            if (all_finite(rows[l])) continue;
            throw Error(ErrorCode::kInvalidArgument,
                        to_text(samples_.noun(), " '", samples_.path(item).string(), "', tensor '",
                                options_.observe[position],
                                "': found NaN or an infinity, expected finite values"));
          }
        });
    return true;
  }

  const Executor& fp32_;
  std::span<WaitingLayer> layers_;
  const Samples& samples_;
  const CollectOptions& collect_;
  CompileOptions options_;
  std::vector<std::size_t> positions_;  // by layer: position of its input in options_.observe
  std::mutex mutex_;
};

/// Notes how many vectors each layer gets from an image like the first usable one. The last layers
/// of a network get few, so that many of them share a pass.
void count_rows(const Graph& graph, const Samples& samples, const CollectOptions& collect,
                std::vector<WaitingLayer>& layers) {
  std::vector<BadImage> bad;
  const auto first = first_usable(samples, collect.preprocess, collect.bad_images, bad);
  if (!first) return;  // the pass says so
  const ShapedGraph shaped = specialize(graph, shapes_for(samples, graph, *first));
  const std::int64_t all = rows_of_each(samples);
  for (WaitingLayer& layer : layers) {
    const ValueId input = graph.node(layer.node).inputs[0];
    const std::optional<ValueInfo>& info = shaped.infos[input];
    layer.most_rows = info ? std::min(all, layer.rows.vectors_of(info->shape)) : all;
  }
}

/// Divides the layers into passes of consecutive layers. The moments, the samples and the vectors
/// of `images` images fit into `pass_bytes` together for all layers of one pass; otherwise the pass
/// has a single layer.
std::vector<std::span<WaitingLayer>> passes_of(std::vector<WaitingLayer>& layers,
                                               std::int64_t images, std::int64_t pass_bytes) {
  std::vector<std::span<WaitingLayer>> passes;
  std::size_t begin = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t more =
        layers[i].bytes() + images * layers[i].most_rows * layers[i].rows.row_bytes();
    if (i > begin && bytes + more > pass_bytes) {
      passes.push_back(std::span(layers).subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += more;
  }
  if (begin < layers.size()) passes.push_back(std::span(layers).subspan(begin));
  return passes;
}

/// The layer with its scales, the data about its input, and the interval that the following
/// activation passes.
Layer layer_of(const Groundwork& ground, const WaitingLayer& waiting, BiasCorrection correction) {
  const Graph& graph = ground.graph();
  Layer layer = ground.scaled_layer(waiting.node, waiting.ports, 1);
  layer.input.moments = &waiting.moments;
  if (waiting.samples.rows > 0) layer.input.samples = &waiting.samples;
  layer.input.passed = passed_interval(graph, waiting.node);
  layer.input.mean_is_corrected = takes_bias(graph, waiting.node, waiting.ports, ground.target()) &&
                                  ((correction == BiasCorrection::kSequential &&
                                    has_bias_input(traits_of(graph.node(waiting.node)))) ||
                                   (correction != BiasCorrection::kOff && has_means(graph, layer)));
  return layer;
}

ValueId input_of(const Groundwork& ground, const WaitingLayer& waiting) {
  return ground.graph().node(waiting.node).inputs[0];
}

/// A rounded layer as a partial result: its source as hexadecimal digits, then its integers.
std::string bytes_of(const RoundedLayer& layer) {
  const auto integers = layer.integers->values<std::int8_t>();
  std::string bytes = to_hex(layer.source);
  bytes.append(reinterpret_cast<const char*>(integers.data()), integers.size());
  return bytes;
}

/// The partial result of this layer. Nothing when it is missing or belongs to other weights or
/// scales.
std::optional<RoundedLayer> partial_result(const PartialResults& results, std::string_view name,
                                           const Layer& layer) {
  const std::optional<std::string> bytes = results.find(name);
  const std::string source = to_hex(rounding_source(layer));
  const auto count = static_cast<std::size_t>(layer.weights.elements());
  if (!bytes || bytes->size() != source.size() + count || !bytes->starts_with(source)) {
    return std::nullopt;
  }
  Tensor integers(DType::kInt8, layer.weights.shape());
  std::copy_n(bytes->begin() + std::ssize(source), count, integers.values<std::int8_t>().begin());
  if (!fits(integers, layer)) return std::nullopt;
  return RoundedLayer{std::make_shared<const Tensor>(std::move(integers)), rounding_source(layer)};
}

/// Adds the layers that are known to `rounded`, and marks them.
void take_known(const Groundwork& ground, const RoundOnImagesOptions& limits,
                const StaticOptions& options, const IdMap<ValueId, std::uint64_t>& sources,
                std::vector<WaitingLayer>& layers, RoundedWeights& rounded) {
  if (limits.resume == nullptr && limits.known == nullptr) return;
  for (WaitingLayer& waiting : layers) {
    const std::string_view name = name_of(ground.graph(), waiting.node);
    const Layer layer = layer_of(ground, waiting, options.bias_correction);
    std::optional<RoundedLayer> known;
    if (limits.resume != nullptr) known = partial_result(*limits.resume, name, layer);
    if (!known && limits.known != nullptr) {
      known =
          limits.known->find({name, options.rounding, sources[input_of(ground, waiting)]}, layer);
    }
    waiting.is_rounded = known.has_value();
    if (known) rounded.emplace(name, *std::move(known));
  }
}

}  // namespace

RoundedOnImages round_on_images(const Executor& fp32, const CalibrationTable& table,
                                const StaticOptions& options, const Learned& learned,
                                const Samples& samples, const CollectOptions& collect,
                                const RoundOnImagesOptions& limits) {
  const RoundingInfo& rounding = find_rounding(options.rounding);
  const int threads = resolve_threads(collect.threads);
  // Wide tensors do not change which layers become integers, and some may lie in the part of the
  // network that is not run.
  StaticOptions narrow = options;
  narrow.wide.clear();
  const Groundwork ground = lay_groundwork(fp32.graph(), table, narrow, learned);
  const Graph& graph = ground.graph();
  std::vector<WaitingLayer> layers = waiting_layers(ground);
  std::erase_if(layers, [&](const WaitingLayer& layer) {
    return layer.rows.moment_bytes() > limits.rounding_memory;
  });
  RoundedOnImages result;
  const BiasCorrection correction = options.bias_correction;
  const auto sources =
      limits.known == nullptr ? IdMap<ValueId, std::uint64_t>() : sources_of(graph);
  take_known(ground, limits, options, sources, layers, result.weights);
  std::int64_t pass_bytes = std::min(limits.rounding_memory, limits.pass_bytes);
  if (rounding.needs == RoundingNeeds::kSamples) {
    make_room_for_samples(layers, samples.size(), limits.rounding_memory);
    pass_bytes = limits.rounding_memory;
  }
  const bool all_known = std::ranges::all_of(layers, &WaitingLayer::is_rounded);
  if (!all_known) count_rows(graph, samples, collect, layers);
  std::vector<std::span<WaitingLayer>> passes =
      passes_of(layers, std::min<std::int64_t>(threads, samples.size()), pass_bytes);
  std::erase_if(passes, [](std::span<const WaitingLayer> pass) {
    return std::ranges::all_of(pass, &WaitingLayer::is_rounded);
  });
  const std::int64_t unrounded =
      std::ranges::count_if(layers, std::logical_not<>(), &WaitingLayer::is_rounded);
  const std::int64_t total = samples.size() * std::ssize(passes) + unrounded;
  std::int64_t done = 0;
  const auto report = [&] {
    report_progress(collect.progress, done, total, "weight rounding",
                    to_text(samples.noun(), "s and layers"));
  };
  std::mutex mutex;
  for (const std::span<WaitingLayer> pass : passes) {
    result.bad.clear();  // every pass finds the same bad images
    const std::int64_t used = [&] {
      // Rewrites change the values that layers multiply, so the rewritten graph is run. What the
      // executor packs is gone before the layers are rounded.
      const Executor executor(graph, options.stop);
      return MomentPass(executor, pass, samples, collect)
          .run(
              [&] {
                ++done;
                report();
              },
              result.bad);
    }();
    give_back_freed_memory();
    if (used == 0) {
      throw Error(ErrorCode::kInvalidImage, to_text("weight rounding: none of ", samples.size(),
                                                    " ", samples.noun(), "s is usable"));
    }
    std::vector<RoundedLayer> rounded(pass.size());
    parallel_items(std::ssize(pass), threads, [&](std::int64_t item, int) {
      const auto i = static_cast<std::size_t>(item);
      WaitingLayer& waiting = pass[i];
      if (waiting.is_rounded) return;
      Layer layer = layer_of(ground, waiting, correction);
      const bool is_late =
          rounding.needs == RoundingNeeds::kSamples && limits.out_of_time && limits.out_of_time();
      round_weights(layer, is_late ? find_rounding("gptq") : rounding);
      rounded[i] = {std::make_shared<const Tensor>(std::move(layer.integers)),
                    rounding_source(layer)};
      const std::string_view name = name_of(graph, waiting.node);
      if (limits.resume != nullptr && !is_late) limits.resume->keep(name, bytes_of(rounded[i]));
      waiting.moments = {};
      waiting.samples = {};
      const std::lock_guard lock(mutex);
      if (limits.known != nullptr && !is_late) {
        limits.known->add({name, options.rounding, sources[input_of(ground, waiting)]}, layer,
                          rounded[i]);
      }
      ++done;
      report();
    });
    for (std::size_t i = 0; i < pass.size(); ++i) {
      if (pass[i].is_rounded) continue;
      result.weights.emplace(name_of(graph, pass[i].node), std::move(rounded[i]));
    }
  }
  return result;
}

}  // namespace qtool
