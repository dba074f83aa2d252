#include "qtool/calib/collect.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/did_you_mean.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "calib/channel_view.h"
#include "calib/statistics.h"
#include "exec/state_feedback.h"
#include "graph/channel_axis.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "qtool/samples/samples.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;

// The observed tensors in the graph's order, model inputs first.
std::vector<TensorStatistics> observed_tensors(const Graph& graph,
                                               const std::vector<std::string>& names) {
  if (names.empty()) {
    throw Error(ErrorCode::kUsage,
                "calibration: found no tensor to observe, expected at least one");
  }
  std::vector<std::string> known;
  std::unordered_map<NodeId, std::size_t> positions;
  for (const NodeId id : graph.nodes()) positions.emplace(id, positions.size() + 1);
  std::unordered_set<std::string_view> seen;
  std::vector<std::pair<std::size_t, TensorStatistics>> placed;
  for (const std::string& name : names) {
    const std::optional<ValueId> id = graph.find_value(name);
    if (!id || graph.is_constant(*id)) {
      if (known.empty()) {
        for (const ValueId living : graph.living_values()) {
          if (!graph.is_constant(living)) known.push_back(graph.value(living).name);
        }
      }
      throw Error(ErrorCode::kUsage, to_text("calibration: no activation is called '", name, "'",
                                             did_you_mean(name, known)));
    }
    if (!seen.insert(name).second) continue;  // named twice
    const NodeId producer = graph.value(*id).producer;
    std::size_t position = 0;
    std::string node_name;
    if (producer != kNoNode) {
      position = positions.at(producer);
      node_name = name_of(graph, producer);
    }
    placed.emplace_back(position, TensorStatistics{name, node_name, {}});
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorStatistics> tensors;
  for (auto& entry : placed) tensors.push_back(std::move(entry.second));
  return tensors;
}

// For each tensor that is a concatenation of observed tensors along the channels: the indices of
// these parts. Its statistics are computed from the statistics of the parts, so no value is counted
// twice.
std::vector<std::vector<std::size_t>> concatenations(const Graph& graph,
                                                     const std::vector<TensorStatistics>& tensors) {
  std::vector<std::vector<std::size_t>> parts(tensors.size());
  std::unordered_map<ValueId, std::size_t> indices;
  for (const TensorStatistics& tensor : tensors) {
    indices.emplace(*graph.find_value(tensor.tensor), indices.size());
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const NodeId producer = graph.value(*graph.find_value(tensors[i].tensor)).producer;
    if (producer == kNoNode) continue;
    const Node& node = graph.node(producer);
    if (!node.is("Concat") || node.get_int("axis", 0) != 1) continue;
    for (const ValueId input : node.inputs) {
      const auto index = indices.find(input);
      if (index == indices.end()) {
        parts[i].clear();
        break;
      }
      parts[i].push_back(index->second);
    }
  }
  return parts;
}

// Outputs are maps when one of them has two or more axes, besides the batch, that are longer than
// one.
Outputs kind_of(std::span<const PortInfo> outputs) {
  const auto is_map = [](const PortInfo& output) {
    const auto& dims = output.shape.dims();
    return !dims.empty() && std::count_if(dims.begin() + 1, dims.end(),
                                          [](std::int64_t extent) { return extent > 1; }) > 1;
  };
  return std::any_of(outputs.begin(), outputs.end(), is_map) ? Outputs::kMaps : Outputs::kVectors;
}

// The data that one pass over the images collects.
enum class Pass : std::uint8_t { kStatistics, kExactBins };

// One thread's share of the work.
struct CollectWorker {
  std::vector<Statistics> statistics;
  std::vector<LinearHistogram> magnitudes;  // of the second pass
  Workspace workspace;
  std::shared_ptr<const Plan> plan;
  InputShapes plan_shapes;
  std::optional<StateFeedback> states;  // of the plan
  Outputs outputs = Outputs::kVectors;  // kMaps if any image gave a feature map
  std::int64_t images = 0;
  std::vector<std::uint64_t> image_ids;  // of these images, as far as they could be read again
  Clock::duration observing{};
  std::int64_t values = 0;  // observed
};

class Collector {
 public:
  Collector(const Executor& executor, const Samples& samples, const CollectOptions& options)
      : executor_(executor),
        samples_(samples),
        options_(options),
        tensors_(observed_tensors(executor.graph(), options.tensors)),
        parts_(concatenations(executor.graph(), tensors_)) {
    require_inputs_for(samples, executor.graph());
    check(options.preprocess);
    for (const TensorStatistics& tensor : tensors_) compile_.observe.push_back(tensor.tensor);
    compile_.threads = 1;
    find_channels();
    counting_ = options_.exact_bins > 0
                    ? Counting::all()
                    : Counting::sample_of(std::max<std::int64_t>(1, samples_.size()));
  }

  Collection run() {
    const std::int64_t total = samples_.size();
    std::vector<CollectWorker> workers(static_cast<std::size_t>(
        std::max<std::int64_t>(1, std::min<std::int64_t>(threads(), total))));
    for (CollectWorker& worker : workers) worker.statistics.resize(tensors_.size());
    run_pass(Pass::kStatistics, workers);
    Collection collection = merged(workers);
    if (options_.exact_bins > 0) {
      collection.exact_bins = options_.exact_bins;
      for (CollectWorker& worker : workers) {
        for (const TensorStatistics& tensor : collection.tensors) {
          worker.magnitudes.push_back(empty_magnitudes(tensor.statistics));
        }
      }
      run_pass(Pass::kExactBins, workers);
      keep_magnitudes(workers, collection);
    }
    return collection;
  }

 private:
  // A network with states passes them from one sample to the next, so one worker must run all
  // samples in their order.
  [[nodiscard]] int threads() const {
    return samples_.states().empty() ? resolve_threads(options_.threads) : 1;
  }

  // When samples differ in length, an axis of a tensor may be this length and not the channels.
  // Such an axis has different extents in the smallest and in the largest sample.
  void find_channels() {
    one_channel_.resize(tensors_.size());
    const Graph& graph = executor_.graph();
    for (const TensorStatistics& tensor : tensors_) {
      last_axis_.push_back(channels_are_last(graph, *graph.find_value(tensor.tensor)));
    }
    find_lengths();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto lost = [&](std::size_t part) { return one_channel_[part] || last_axis_[part]; };
      if (lost(i) || std::any_of(parts_[i].begin(), parts_[i].end(), lost)) parts_[i].clear();
    }
  }

  void find_lengths() {
    const std::vector<InputShapes> extremes = extreme_shapes(samples_, executor_.graph());
    if (extremes.empty()) return;
    const auto small = executor_.compile(extremes.front(), compile_);
    const auto large = executor_.compile(extremes.back(), compile_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Shape& a = small->observed()[i].shape;
      const Shape& b = large->observed()[i].shape;
      const auto channels = [&](const Shape& shape) {
        return shape[last_axis_[i] ? shape.rank() - 1 : 1];
      };
      one_channel_[i] = a.rank() < 2 || b.rank() < 2 || channels(a) != channels(b);
    }
  }

  void run_pass(Pass pass, std::vector<CollectWorker>& workers) {
    const std::int64_t images = samples_.size();
    const std::int64_t total = options_.exact_bins > 0 ? 2 * images : images;
    parallel_items(images, threads(), [&](std::int64_t item, int worker) {
      observe(item, pass, workers[static_cast<std::size_t>(worker)]);
      report_one_of(total);
    });
  }

  [[nodiscard]] LinearHistogram empty_magnitudes(const Statistics& statistics) const {
    return {0.0, statistics.absmax(),
            std::vector<std::int64_t>(static_cast<std::size_t>(options_.exact_bins))};
  }

  void keep_magnitudes(std::vector<CollectWorker>& workers, Collection& collection) const {
    for (std::size_t i = 0; i < collection.tensors.size(); ++i) {
      Statistics& statistics = collection.tensors[i].statistics;
      LinearHistogram all = empty_magnitudes(statistics);
      for (const CollectWorker& worker : workers) {
        for (std::size_t bin = 0; bin < all.counts.size(); ++bin) {
          all.counts[bin] += worker.magnitudes[i].counts[bin];
        }
      }
      statistics.set_exact_magnitudes(std::move(all));
    }
  }

  void observe(std::int64_t item, Pass pass, CollectWorker& worker) {
    std::vector<BadImage> bad;
    const std::optional<std::vector<Tensor>> sample =
        samples_.load(item, options_.preprocess, options_.bad_images, bad);
    if (!bad.empty() && pass == Pass::kStatistics) {
      const std::lock_guard lock(mutex_);
      for (BadImage& one : bad) bad_.emplace_back(item, std::move(one));
    }
    if (!sample) return;
    InputShapes shapes = shapes_for(samples_, executor_.graph(), *sample);
    if (worker.plan == nullptr || worker.plan_shapes != shapes) {
      worker.plan = executor_.compile(shapes, compile_);
      worker.plan_shapes = std::move(shapes);
      worker.states.emplace(samples_, *worker.plan);
      if (kind_of(worker.plan->outputs()) == Outputs::kMaps) worker.outputs = Outputs::kMaps;
    }
    const FlushDenormals flush;
    // A hash of the values of the sample, so that counting does not depend on the order of samples.
    const std::uint64_t values = content_id(*sample);
    Counting counting = counting_;
    counting.random_start = static_cast<std::uint32_t>(values);
    const auto outputs =
        worker.plan->run(worker.states->inputs(item, *sample), worker.workspace,
                         [&](std::size_t index, const TensorView& tensor) {
                           if (pass == Pass::kExactBins) {
                             count_magnitudes(tensor.values<float>(), worker.magnitudes[index]);
                           } else if (parts_[index].empty()) {
                             const Clock::time_point begin = Clock::now();
                             observe(tensor, index, item, counting, worker.statistics[index]);
                             worker.observing += Clock::now() - begin;
                             worker.values += tensor.shape.elements();
                           }
                         });
    worker.states->keep(outputs);
    if (pass != Pass::kStatistics) return;
    ++worker.images;
    const std::optional<std::uint64_t> id =
        samples_.are_images() ? content_id(samples_, item) : values;
    if (id) worker.image_ids.push_back(*id);
  }

  void observe(const TensorView& tensor, std::size_t index, std::int64_t item, Counting counting,
               Statistics& statistics) const {
    try {
      Tensor copy;
      const bool last = last_axis_[index] && !one_channel_[index] && tensor.shape.rank() >= 2;
      statistics.observe(
          last ? with_last_channels(tensor, copy) : with_image_axes(tensor, one_channel_[index]),
          item, counting);
    } catch (const Error& error) {
      const TensorStatistics& observed = tensors_[index];
      const std::string node =
          observed.producer.empty() ? std::string() : to_text(" of node '", observed.producer, "'");
      throw Error(error.code(),
                  to_text(samples_.noun(), " '", samples_.path(item).string(), "', tensor '",
                          observed.tensor, "'", node, ": ", error.what()));
    }
  }

  void report_one_of(std::int64_t total) {
    const std::lock_guard lock(mutex_);
    ++done_;
    report_progress(options_.progress, done_, total, "calibration", to_text(samples_.noun(), "s"));
  }

  Collection merged(std::vector<CollectWorker>& workers) {
    Collection collection;
    collection.model_fingerprint =
        options_.model_fingerprint.value_or(fingerprint(executor_.whole_graph()));
    collection.image_list_hash = hash_of(samples_);
    if (samples_.are_images()) collection.preprocess = options_.preprocess;
    collection.tensors = tensors_;
    for (const CollectWorker& worker : workers) {
      collection.image_count += worker.images;
      collection.image_ids.insert(collection.image_ids.end(), worker.image_ids.begin(),
                                  worker.image_ids.end());
      if (worker.outputs == Outputs::kMaps) collection.outputs = Outputs::kMaps;
      collection.observe_seconds += std::chrono::duration<double>(worker.observing).count();
      collection.observed_values += worker.values;
    }
    std::sort(collection.image_ids.begin(), collection.image_ids.end());
    // A part of the images would make an overlap with others look smaller than it is.
    if (std::ssize(collection.image_ids) != collection.image_count ||
        collection.image_count > kMaxImageIds) {
      collection.image_ids.clear();
    }
    parallel_items(static_cast<std::int64_t>(tensors_.size()), resolve_threads(options_.threads),
                   [&](std::int64_t item, int) {
                     const auto i = static_cast<std::size_t>(item);
                     Statistics& all = collection.tensors[i].statistics;
                     for (CollectWorker& worker : workers)
                       all.merge(std::move(worker.statistics[i]));
                   });
    // In the order of the graph, so that the statistics of the parts are complete.
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].empty()) continue;
      std::vector<const Statistics*> parts;
      for (const std::size_t part : parts_[i]) {
        parts.push_back(&collection.tensors[part].statistics);
      }
      collection.tensors[i].statistics = Statistics::of_concatenation(parts);
    }
    std::sort(bad_.begin(), bad_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [item, bad] : bad_) collection.bad.push_back(std::move(bad));
    if (collection.image_count == 0) {
      throw Error(ErrorCode::kInvalidImage,
                  collection.bad.empty()
                      ? std::string("calibration: found no images, expected at least one")
                      : to_text("calibration: none of ", samples_.size(),
                                " images is usable; the first: ", collection.bad[0].reason));
    }
    return collection;
  }

  const Executor& executor_;
  const Samples& samples_;
  const CollectOptions& options_;
  std::vector<TensorStatistics> tensors_;
  std::vector<std::vector<std::size_t>> parts_;  // see concatenations()
  std::vector<bool> one_channel_;                // see find_channels()
  std::vector<bool> last_axis_;                  // see channels_are_last()
  CompileOptions compile_;
  Counting counting_;
  std::mutex mutex_;  // guards the members below
  std::int64_t done_ = 0;
  std::vector<std::pair<std::int64_t, BadImage>> bad_;
};

}  // namespace

Collection::Collection() = default;
Collection::Collection(const Collection&) = default;
Collection::Collection(Collection&&) noexcept = default;
Collection& Collection::operator=(const Collection&) = default;
Collection& Collection::operator=(Collection&&) noexcept = default;
Collection::~Collection() = default;

Collection collect(const Executor& executor, const Samples& samples,
                   const CollectOptions& options) {
  return Collector(executor, samples, options).run();
}

std::optional<std::string> doubtful(const Collection& collection) {
  const std::string_view noun = collection.preprocess ? "image" : "sample";
  if (collection.image_count == 1) {
    return to_text("calibrated on one ", noun, ": ranges are those of this ", noun, ", other ",
                   noun, "s may exceed them");
  }
  const auto same_in_all = [](const TensorStatistics& tensor) {
    const std::vector<ImageExtremes>& images = tensor.statistics.image_extremes();
    return std::all_of(images.begin(), images.end(), [&](const ImageExtremes& image) {
      return image.min == images[0].min && image.max == images[0].max;
    });
  };
  if (!std::all_of(collection.tensors.begin(), collection.tensors.end(), same_in_all)) {
    return std::nullopt;
  }
  return to_text("calibrated on ", collection.image_count, " ", noun,
                 "s that give the same range of every tensor: are they copies of one ", noun, "?");
}

}  // namespace qtool
