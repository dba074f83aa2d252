#include "on_images/network_by_depth.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/edit.h"
#include "lower/specialize.h"

namespace qtool {
namespace {

using Depths = IdMap<ValueId, std::int64_t>;

std::int64_t depth_of(const Node& node, const Depths& depths) {
  std::int64_t deepest = 0;
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) deepest = std::max(deepest, depths[input]);
  }
  return deepest;
}

/// The depths in `shaped`, which was made from a graph with the depths `whole`. Values of both keep
/// their depths, although fewer layers may lie before them with concrete shapes: only the depths of
/// the whole graph say which layers are corrected already.
Depths depths_in(const Graph& shaped, const Depths& whole) {
  Depths depths = whole;
  depths.resize(shaped.value_limit(), 0);
  for (const NodeId id : shaped.nodes()) {
    const Node& node = shaped.node(id);
    const std::int64_t depth = depth_of(node, depths);
    for (const ValueId output : node.outputs) {
      if (output != kNoValue && !whole.contains(output)) depths[output] = depth;
    }
  }
  return depths;
}

bool dequantizes(const Graph& graph, NodeId id) {
  return graph.node(id).op_type == "DequantizeLinear";
}

/// Finds the tensors between two depths.
class Border {
 public:
  Border(const Graph& graph, const ValueInfos& infos, const Depths& depths, std::int64_t depth)
      : graph_(graph),
        infos_(infos),
        depths_(depths),
        depth_(depth),
        varies_(graph.value_limit(), 0),
        seen_(graph.value_limit(), 0),
        reals_kept_(graph.value_limit(), 0) {
    for (const ValueId input : graph.inputs()) varies_[input] = 1;
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      const bool varies = std::ranges::any_of(
          node.inputs, [&](ValueId input) { return input != kNoValue && varies_[input] != 0; });
      bool is_behind = false;
      for (const ValueId output : node.outputs) {
        if (output == kNoValue) continue;
        varies_[output] = varies ? 1 : 0;
        is_behind = is_behind || depths[output] > depth;
      }
      if (!is_behind) continue;
      for (const ValueId input : node.inputs) add(input);
    }
  }

  /// The tensors of at most this depth from which all deeper nodes can be computed. Tensors that
  /// are the same for all samples, such as dequantized weights, are not among them.
  [[nodiscard]] std::vector<ValueId> tensors() && { return std::move(tensors_); }

 private:
  void add(ValueId id) {
    if (id == kNoValue || depths_[id] > depth_ || varies_[id] == 0) return;
    if (std::exchange(seen_[id], 1) != 0) return;
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNoNode || !dequantizes(graph_, producer)) {
      tensors_.push_back(id);
      return;
    }
    // A product becomes an integer operator together with the DequantizeLinear in front of it, so
    // the integers are kept. Signed integers are lowered together with their QuantizeLinear. Their
    // reals are kept: rounded again, they give the same integers.
    const ValueId integers = graph_.node(producer).inputs[0];
    const NodeId rounding = graph_.value(integers).producer;
    if (infos_[integers]->dtype == DType::kInt8 && rounding != kNoNode &&
        graph_.node(rounding).op_type == "QuantizeLinear") {
      if (std::exchange(reals_kept_[integers], 1) == 0) tensors_.push_back(id);
      return;
    }
    for (const ValueId input : graph_.node(producer).inputs) add(input);
  }

  const Graph& graph_;
  const ValueInfos& infos_;
  const Depths& depths_;
  std::int64_t depth_;
  IdMap<ValueId, char> varies_;  // with the sample
  IdMap<ValueId, char> seen_;
  IdMap<ValueId, char> reals_kept_;  // by integers
  std::vector<ValueId> tensors_;
};

/// Leaves what computes `kept` and `results`. Only the tensors of `kept` become outputs, because
/// outputs are copied to the plain layout; the results are observed. A graph needs an output.
void cut_at(Graph& graph, const std::vector<ValueId>& kept, const std::vector<ValueId>& results) {
  std::vector<ValueId> all = kept;
  all.insert(all.end(), results.begin(), results.end());
  graph.set_outputs(std::move(all));
  graph.remove_dead_nodes();
  if (!kept.empty()) graph.set_outputs(kept);
}

/// Lets the graph start from the tensors `reads` of a Border. Returns its inputs for them.
std::vector<ValueId> begin_at(Graph& graph, std::span<const ValueId> reads,
                              const ValueInfos& infos) {
  std::vector<ValueId> inputs;
  for (const ValueId id : reads) {
    const NodeId producer = graph.value(id).producer;
    ValueId input = id;
    if (producer != kNoNode && dequantizes(graph, producer)) {
      // These reals are rounded to the same integers again.
      input = add_named(graph, "kept_", graph.value(id).name);
      graph.set_input(graph.value(graph.node(producer).inputs[0]).producer, 0, input);
    } else if (producer != kNoNode) {
      // The producer writes to another value, so that this one can become an input.
      const ValueId unread = add_named(graph, "cut_", graph.value(id).name);
      graph.set_output(producer, graph.output_index(id), unread);
    }
    std::vector<Dim> dims;
    for (const std::int64_t extent : infos[id]->shape.dims()) dims.push_back({extent, ""});
    graph.declare(input, infos[id]->dtype, std::move(dims));
    inputs.push_back(input);
  }
  return inputs;
}

std::vector<std::string> names_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

}  // namespace

Depths depths_of(const Graph& graph, std::span<const NodeId> layers) {
  IdMap<NodeId, char> is_layer(node_limit(graph), 0);
  for (const NodeId id : layers) {
    if (is_layer.contains(id)) is_layer[id] = 1;
  }
  Depths depths(graph.value_limit(), 0);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::int64_t depth = depth_of(node, depths) + is_layer[id];
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) depths[output] = depth;
    }
  }
  return depths;
}

NetworkByDepth::NetworkByDepth(std::int64_t samples, InputShapes shapes, std::int64_t most_bytes)
    : shapes_(std::move(shapes)),
      most_bytes_(most_bytes),
      kept_(static_cast<std::size_t>(samples)) {
  options_.threads = 1;
}

void NetworkByDepth::go_to(Target target) {
  const Graph& whole = target.graph;
  inputs_ = names_of(whole, whole.inputs());
  options_.observe = target.results;
  std::vector<ValueId> results;
  for (const std::string& name : target.results) results.push_back(whole.find_value(name).value());
  const Depths in_whole = depths_of(whole, target.layers);
  std::vector<ValueId> of_layers;
  std::int64_t deepest = 0;
  for (const NodeId id : target.layers) {
    of_layers.push_back(whole.node(id).outputs[0]);
    deepest = std::max(deepest, in_whole[of_layers.back()]);
  }

  // With concrete shapes, shape arithmetic is constant and needs not be kept.
  ShapedGraph shaped = specialize(whole, shapes_, target.results);
  Graph& graph = shaped.graph;
  const auto is_computed = [&](ValueId id) { return graph.value(id).producer != kNoNode; };
  std::erase_if(of_layers, [&](ValueId id) { return !is_computed(id); });
  cut_at(graph, {}, of_layers);
  const Depths depths = depths_in(graph, in_whole);
  const auto border = [&](std::int64_t depth) {
    return Border(graph, shaped.infos, depths, depth).tensors();
  };
  const std::vector<ValueId> reads = border(target.depth - 2);
  const std::vector<ValueId> kept =
      target.depth < deepest ? border(target.depth - 1) : std::vector<ValueId>();
  reads_ = names_of(graph, reads);
  keeps_ = names_of(graph, kept);

  IdMap<ValueId, char> is_read(graph.value_limit(), 0);
  for (const ValueId id : reads) is_read[id] = 1;
  std::vector<ValueId> computed;  // by the part between two depths
  for (const ValueId id : kept) {
    if (is_read[id] == 0 && !graph.is_input(id)) computed.push_back(id);
  }
  from_kept_ = {};
  // A result may be a constant with concrete shapes. Then no part computes it.
  if (target.depth > 1 && std::ranges::all_of(results, is_computed)) {
    Graph between = graph;
    const std::vector<ValueId> inputs = begin_at(between, reads, shaped.infos);
    cut_at(between, computed, results);
    between.set_inputs(inputs);
    from_kept_.inputs = names_of(between, inputs);
    from_kept_.kept = names_of(graph, computed);
    from_kept_.executor = std::make_unique<Executor>(std::move(between));
  }

  // The tensors that exist only with concrete shapes are not computed by the whole network.
  from_inputs_ = {};
  std::vector<ValueId> outputs;
  for (const std::string& name : keeps_) {
    const std::optional<ValueId> id = whole.find_value(name);
    if (!id || whole.is_input(*id) || whole.value(*id).producer == kNoNode) continue;
    outputs.push_back(*id);
    from_inputs_.kept.push_back(name);
  }
  Graph until = std::move(target.graph);
  cut_at(until, outputs, results);
  from_inputs_.executor = std::make_unique<Executor>(std::move(until));
}

bool NetworkByDepth::needs_inputs(std::int64_t sample) const {
  const Tensors& kept = kept_[static_cast<std::size_t>(sample)];
  return from_kept_.executor == nullptr || kept.empty() ||
         !std::all_of(reads_.begin(), reads_.end(),
                      [&](const std::string& name) { return kept.contains(name); });
}

void NetworkByDepth::run(std::int64_t sample, std::span<const Tensor> inputs,
                         const InputShapes& shapes, Workspace& workspace, const Probe& probe) {
  const bool whole = needs_inputs(sample);
  const Part& part = whole ? from_inputs_ : from_kept_;
  Tensors& kept = kept_[static_cast<std::size_t>(sample)];
  std::vector<TensorView> views;
  InputShapes read_shapes;
  if (whole) {
    views.assign(inputs.begin(), inputs.end());
  } else {
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      const Tensor& tensor = *kept.find(reads_[i])->second;
      views.emplace_back(tensor);
      read_shapes.emplace(part.inputs[i], tensor.shape());
    }
  }
  const std::span<const TensorView> outputs =
      part.executor->compile(whole ? shapes : read_shapes, options_)->run(views, workspace, probe);
  if (whole && shapes != shapes_) return;  // its tensors do not suit the part between two depths
  keep(sample, kept_after(outputs, part, kept, inputs));
}

NetworkByDepth::Tensors NetworkByDepth::kept_after(std::span<const TensorView> outputs,
                                                   const Part& part, const Tensors& before,
                                                   std::span<const Tensor> inputs) const {
  Tensors after;
  for (const std::string& name : keeps_) {
    const auto computed = std::find(part.kept.begin(), part.kept.end(), name);
    if (computed != part.kept.end()) {
      const auto at = static_cast<std::size_t>(computed - part.kept.begin());
      after.emplace(name, std::make_shared<const Tensor>(to_tensor(outputs[at])));
      continue;
    }
    if (const auto known = before.find(name); known != before.end()) {
      after.insert(*known);
      continue;
    }
    const auto input = std::find(inputs_.begin(), inputs_.end(), name);
    const auto at = static_cast<std::size_t>(input - inputs_.begin());
    if (at >= inputs.size()) return {};
    after.emplace(name, std::make_shared<const Tensor>(inputs[at].clone()));
  }
  return after;
}

void NetworkByDepth::keep(std::int64_t sample, Tensors tensors) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor->bytes();
  // The tensors of all samples have the same size, so the first ones are kept that fit. It does not
  // depend on the threads which ones these are.
  if (bytes > most_bytes_ / (sample + 1)) tensors.clear();
  kept_[static_cast<std::size_t>(sample)] = std::move(tensors);
}

std::int64_t NetworkByDepth::kept_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensors& tensors : kept_) {
    for (const auto& [name, tensor] : tensors) bytes += tensor->bytes();
  }
  return bytes;
}

}  // namespace qtool
