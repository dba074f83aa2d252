#include "on_images/network_by_depth.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/edit.h"
#include "lower/specialize.h"

namespace qtool {
namespace {

std::int64_t depth_of(const Node& node, const IdMap<ValueId, std::int64_t>& depths) {
  std::int64_t deepest = 0;
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) deepest = std::max(deepest, depths[input]);
  }
  return deepest;
}

/// Finds the tensors between two depths.
class Border {
 public:
  Border(const Graph& graph, const IdMap<ValueId, std::int64_t>& depths, std::int64_t depth)
      : graph_(graph), depths_(depths), depth_(depth), seen_(graph.value_limit(), 0) {
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      const bool is_behind =
          std::any_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId output) { return output != kNoValue && depths[output] > depth; });
      if (!is_behind) continue;
      for (const ValueId input : node.inputs) add(input);
    }
  }

  /// The tensors of at most this depth from which all deeper nodes can be computed.
  [[nodiscard]] std::vector<ValueId> tensors() && { return std::move(tensors_); }

 private:
  void add(ValueId id) {
    if (id == kNoValue || depths_[id] > depth_ || graph_.is_constant(id)) return;
    if (std::exchange(seen_[id], 1) != 0) return;
    // A product is lowered to integers together with the DequantizeLinear in front of it.
    const NodeId producer = graph_.value(id).producer;
    if (producer != kNoNode && graph_.node(producer).op_type == "DequantizeLinear") {
      for (const ValueId input : graph_.node(producer).inputs) add(input);
      return;
    }
    tensors_.push_back(id);
  }

  const Graph& graph_;
  const IdMap<ValueId, std::int64_t>& depths_;
  std::int64_t depth_;
  IdMap<ValueId, char> seen_;
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

/// Makes `reads` the inputs of the graph.
void begin_at(Graph& graph, std::span<const ValueId> reads, const ValueInfos& infos) {
  for (const ValueId id : reads) {
    const NodeId producer = graph.value(id).producer;
    if (producer == kNoNode) continue;
    // The producer writes to another value, so that this one can become an input.
    const ValueId unread = add_named(graph, "cut_", graph.value(id).name);
    graph.set_output(producer, graph.output_index(id), unread);
    std::vector<Dim> dims;
    for (const std::int64_t extent : infos[id]->shape.dims()) dims.push_back({extent, ""});
    graph.declare(id, infos[id]->dtype, std::move(dims));
  }
}

std::vector<std::string> names_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

}  // namespace

IdMap<ValueId, std::int64_t> depths_of(const Graph& graph, std::span<const NodeId> layers) {
  IdMap<NodeId, char> is_layer(node_limit(graph), 0);
  for (const NodeId id : layers) {
    if (is_layer.contains(id)) is_layer[id] = 1;
  }
  IdMap<ValueId, std::int64_t> depths(graph.value_limit(), 0);
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
      kept_(static_cast<std::size_t>(samples)),
      bytes_(kept_.size(), 0) {
  options_.threads = 1;
}

void NetworkByDepth::go_to(Target target) {
  const Graph& whole = target.graph;
  inputs_ = names_of(whole, whole.inputs());
  options_.observe = target.results;
  std::vector<ValueId> results;
  for (const std::string& name : target.results) results.push_back(whole.find_value(name).value());

  // With concrete shapes, shape arithmetic is constant and needs not be kept.
  const ShapedGraph shaped = specialize(whole, shapes_, target.results);
  const Graph& graph = shaped.graph;
  const IdMap<ValueId, std::int64_t> depths = depths_of(graph, target.layers);
  const std::vector<ValueId> kept = Border(graph, depths, target.depth - 1).tensors();
  const std::vector<ValueId> reads = Border(graph, depths, target.depth - 2).tensors();
  keeps_ = names_of(graph, kept);
  reads_ = names_of(graph, reads);

  const auto is_read = [&](ValueId id) {
    return std::find(reads.begin(), reads.end(), id) != reads.end();
  };
  std::vector<ValueId> computed;  // by the part between two depths
  for (const ValueId id : kept) {
    if (!is_read(id) && !graph.is_input(id)) computed.push_back(id);
  }
  from_kept_ = {};
  if (target.depth > 1) {
    Graph between = graph;
    begin_at(between, reads, shaped.infos);
    cut_at(between, computed, results);
    between.set_inputs(reads);
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
    for (const std::string& name : reads_) {
      const Tensor& tensor = *kept.find(name)->second;
      views.emplace_back(tensor);
      read_shapes.emplace(name, tensor.shape());
    }
  }
  const std::span<const TensorView> outputs =
      part.executor->compile(whole ? shapes : read_shapes, options_)->run(views, workspace, probe);
  if (whole && shapes != shapes_) return;
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
  const auto at = static_cast<std::size_t>(sample);
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor->bytes();
  all_bytes_ -= bytes_[at];
  if (all_bytes_.fetch_add(bytes) + bytes > most_bytes_) {
    all_bytes_ -= bytes;
    bytes = 0;
    tensors.clear();
  }
  kept_[at] = std::move(tensors);
  bytes_[at] = bytes;
}

std::int64_t NetworkByDepth::kept_bytes() const { return all_bytes_; }

}  // namespace qtool
