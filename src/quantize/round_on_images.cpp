#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/floating_point_mode.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "qtool/quantize/calibrate.h"
#include "quantize/bias_correction.h"
#include "quantize/groundwork.h"
#include "quantize/input_moments.h"
#include "quantize/operands.h"
#include "quantize/rounding.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

// Vectors of all images together that a layer's moments are made of. More do not help: see
// docs/accuracy.md.
constexpr std::int64_t kMaxRows = 24'576;

/// Vectors of one image for each layer, at most.
std::int64_t rows_of_each(const Samples& samples) {
  return std::max<std::int64_t>(1, kMaxRows / std::max<std::int64_t>(samples.size(), 1));
}

/// A layer on its way to integers.
struct WaitingLayer {
  NodeId node = kNoNode;
  WeightPorts ports;
  InputRows rows;
  InputMoments moments;
};

/// The layers that become integers and whose input vectors can be read.
std::vector<WaitingLayer> waiting_layers(const Groundwork& ground) {
  std::vector<WaitingLayer> layers;
  const Graph& graph = ground.graph();
  std::unordered_map<std::string_view, int> uses;  // integers are handed on by name
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
    layers.push_back({placed.id, *ports, *std::move(rows), std::move(moments)});
  }
  return layers;
}

/// Adds up the moments of some layers over all images.
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

  /// `each_image` is called after each, by one thread at a time. Returns the images in use; those
  /// left out are added to `bad`, in the order of the list.
  std::int64_t run(const std::function<void()>& each_image, std::vector<BadImage>& bad) {
    const int threads = resolve_threads(collect_.threads);
    const std::int64_t count = samples_.size();
    std::vector<Workspace> workspaces(static_cast<std::size_t>(threads));
    std::int64_t used = 0;
    // As many images at a time as there are threads: then each layer adds theirs in the order of
    // the list, whatever the number of threads.
    for (std::int64_t begin = 0; begin < count; begin += threads) {
      const std::int64_t part = std::min<std::int64_t>(threads, count - begin);
      std::vector<std::optional<ImageRows>> rows(static_cast<std::size_t>(part));
      std::vector<std::vector<BadImage>> left_out(rows.size());
      parallel_items(part, threads, [&](std::int64_t i, int worker) {
        rows[static_cast<std::size_t>(i)] =
            rows_of(begin + i, workspaces[static_cast<std::size_t>(worker)],
                    left_out[static_cast<std::size_t>(i)]);
        const std::lock_guard lock(mutex_);
        each_image();
      });
      for (const auto& image : rows) used += image ? 1 : 0;
      for (auto& some : left_out) std::move(some.begin(), some.end(), std::back_inserter(bad));
      parallel_items(std::ssize(layers_), threads, [&](std::int64_t layer, int) {
        const auto l = static_cast<std::size_t>(layer);
        for (const auto& image : rows) {
          if (image) add_rows((*image)[l], layers_[l].moments);
        }
      });
    }
    return used;
  }

 private:
  using ImageRows = std::vector<std::vector<float>>;  // by layer

  std::optional<ImageRows> rows_of(std::int64_t item, Workspace& workspace,
                                   std::vector<BadImage>& bad) const {
    const std::optional<std::vector<Tensor>> sample =
        samples_.load(item, collect_.preprocess, collect_.bad_images, bad);
    if (!sample) return std::nullopt;
    const FlushDenormals flush;
    const std::vector<TensorView> views = views_of(*sample);
    ImageRows rows(layers_.size());
    fp32_.compile(shapes_for(samples_, fp32_.graph(), *sample), options_)
        ->run(views, workspace, [&](std::size_t position, const TensorView& tensor) {
          for (std::size_t l = 0; l < layers_.size(); ++l) {
            if (positions_[l] != position) continue;
            rows[l] = layers_[l].rows.gather(tensor, rows_of_each(samples_));
            if (all_finite(rows[l])) continue;
            throw Error(ErrorCode::kInvalidArgument,
                        concat(samples_.noun(), " '", samples_.path(item).string(), "', tensor '",
                               options_.observe[position],
                               "': found NaN or an infinity, expected finite values"));
          }
        });
    return rows;
  }

  const Executor& fp32_;
  std::span<WaitingLayer> layers_;
  const Samples& samples_;
  const CollectOptions& collect_;
  CompileOptions options_;
  std::vector<std::size_t> positions_;  // by layer: of its input in options_.observe
  std::mutex mutex_;
};

/// Consecutive layers whose moments, and as many vectors as wait to be added, fit into `max_memory`
/// together.
std::vector<std::span<WaitingLayer>> passes_of(std::vector<WaitingLayer>& layers,
                                               std::int64_t waiting_rows, std::int64_t max_memory) {
  std::vector<std::span<WaitingLayer>> passes;
  std::size_t begin = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const InputRows& rows = layers[i].rows;
    const std::int64_t more = rows.moment_bytes() + waiting_rows * rows.row_bytes();
    if (i > begin && bytes + more > max_memory) {
      passes.push_back(std::span(layers).subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += more;
  }
  if (begin < layers.size()) passes.push_back(std::span(layers).subspan(begin));
  return passes;
}

}  // namespace

RoundedOnImages round_on_images(const Executor& fp32, const CalibrationTable& table,
                                const StaticOptions& options, const Samples& samples,
                                const CollectOptions& collect, const RoundOnImagesOptions& limits) {
  const RoundingInfo& rounding = find_rounding(options.rounding);
  const int threads = resolve_threads(collect.threads);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, options);
  const Graph& graph = ground.graph();
  // Rewrites change what layers multiply.
  std::optional<Executor> rewritten;
  if (!ground.rewrites().names.empty()) rewritten.emplace(graph);
  std::vector<WaitingLayer> layers = waiting_layers(ground);
  std::erase_if(layers, [&](const WaitingLayer& layer) {
    return layer.rows.moment_bytes() > limits.max_memory;
  });
  const std::vector<std::span<WaitingLayer>> passes =
      passes_of(layers, std::min<std::int64_t>(threads, samples.size()) * rows_of_each(samples),
                limits.max_memory);
  const std::int64_t total = samples.size() * std::ssize(passes);
  std::int64_t done = 0;
  const auto report = [&] {
    report_progress(collect.progress, done, total, "weight rounding", concat(samples.noun(), "s"));
  };
  std::mutex mutex;
  RoundedOnImages result;
  for (const std::span<WaitingLayer> pass : passes) {
    result.bad.clear();  // each pass meets the same
    const std::int64_t used = MomentPass(rewritten ? *rewritten : fp32, pass, samples, collect)
                                  .run(
                                      [&] {
                                        ++done;
                                        report();
                                      },
                                      result.bad);
    if (used == 0) {
      throw Error(ErrorCode::kInvalidImage, concat("weight rounding: none of ", samples.size(), " ",
                                                   samples.noun(), "s is usable"));
    }
    std::vector<RoundedLayer> rounded(pass.size());
    parallel_items(std::ssize(pass), threads, [&](std::int64_t item, int) {
      {
        const std::lock_guard lock(mutex);
        report();  // where the user may stop
      }
      const auto i = static_cast<std::size_t>(item);
      WaitingLayer& waiting = pass[i];
      Layer layer = ground.scaled_layer(waiting.node, waiting.ports, 1);
      layer.input.moments = &waiting.moments;
      const BiasCorrection correction = options.bias_correction;
      layer.input.mean_is_corrected =
          takes_bias(graph.node(waiting.node), waiting.ports, ground.target()) &&
          (correction == BiasCorrection::kSequential ||
           (correction == BiasCorrection::kTable && has_means(graph, layer)));
      round_weights(layer, rounding);
      rounded[i] = {std::make_shared<const Tensor>(std::move(layer.integers)),
                    rounding_source(layer)};
      waiting.moments = {};
    });
    for (std::size_t i = 0; i < pass.size(); ++i) {
      result.weights.emplace(name_of(graph, pass[i].node), std::move(rounded[i]));
    }
  }
  return result;
}

}  // namespace qtool
