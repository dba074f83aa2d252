#include "lower/specialize.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/did_you_mean.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/rank.h"
#include "lower/shaped_subgraphs.h"
#include "ops/evaluate.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// The number of nodes that unrolling loops may add to a plan. A longer loop runs its body as a
// subgraph, once per iteration.
constexpr std::int64_t kMaxLoopNodes = 1 << 14;

std::string opset_text(const Graph& graph, const Node& node) {
  const auto it = graph.info.opsets.find(node.domain);
  const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  return it == graph.info.opsets.end() ? to_text("domain ", domain)
                                       : to_text(domain, " opset ", it->second);
}

std::optional<ValueInfo>& slot(ShapedGraph& shaped, ValueId id) {
  if (!shaped.infos.contains(id)) shaped.infos.resize(shaped.graph.value_limit());
  return shaped.infos[id];
}

void learn_output(ShapedGraph& shaped, NodeId id, std::size_t output, const ValueInfo& info) {
  const std::int64_t axes = info.shape.rank();
  if (axes > kMaxRank) {
    throw Error(ErrorCode::kUnsupported,
                to_text(shaped.graph.describe(id), ": output ", output, " ", too_many_axes(axes)));
  }
  slot(shaped, shaped.graph.node(id).outputs[output]) = info;
}

void learn_input(ShapedGraph& shaped, ValueId id, Shape shape) {
  const Value& value = shaped.graph.value(id);
  if (shape.rank() > kMaxRank) {
    throw Error(ErrorCode::kUnsupported,
                to_text("input '", value.name, "' ", too_many_axes(shape.rank())));
  }
  slot(shaped, id) = ValueInfo{*value.dtype, std::move(shape)};
}

void learn_constant(ShapedGraph& shaped, ValueId id) {
  const Tensor& tensor = *shaped.graph.value(id).constant;
  slot(shaped, id) = ValueInfo{tensor.dtype(), tensor.shape()};
}

// Types and shapes of the inputs, from the caller and from the model.
void learn_inputs(ShapedGraph& shaped, const InputShapes& shapes) {
  const Graph& graph = shaped.graph;
  for (const auto& [name, shape] : shapes) {
    const std::optional<ValueId> known = graph.find_value(name);
    if (known && graph.is_input(*known)) continue;
    std::vector<std::string> names;
    for (const ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
    throw Error(ErrorCode::kUsage,
                to_text("the model has no input '", name, "'", did_you_mean(name, names)));
  }
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (!value.dtype) {
      throw Error(ErrorCode::kInvalidModel, to_text("input '", value.name, "' has no type"));
    }
    const auto given = shapes.find(value.name);
    if (!value.shape) {
      if (given == shapes.end()) {
        throw Error(ErrorCode::kUsage, to_text("input '", value.name, "' needs a shape"));
      }
      learn_input(shaped, id, given->second);
      continue;
    }
    std::vector<std::int64_t> dims;
    for (std::size_t axis = 0; axis < value.shape->size(); ++axis) {
      const Dim& dim = (*value.shape)[axis];
      if (dim.size) {
        dims.push_back(*dim.size);
      } else if (given != shapes.end() && axis < given->second.dims().size()) {
        dims.push_back(given->second.dims()[axis]);
      } else if (axis == 0) {
        dims.push_back(1);  // an open first axis is the batch
      } else {
        throw Error(ErrorCode::kUsage,
                    to_text("input '", value.name, "' has an open axis ", axis, " (",
                            dim.symbol.empty() ? "?" : dim.symbol, "); it needs a shape"));
      }
    }
    Shape shape(std::move(dims));
    if (given != shapes.end() && shape != given->second) {
      throw Error(ErrorCode::kMismatch,
                  to_text("input '", value.name, "' has shape ", shape.to_string(), ", found ",
                          given->second.to_string()));
    }
    learn_input(shaped, id, std::move(shape));
  }
}

bool all_inputs_constant(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input == kNoValue || graph.is_constant(input); });
}

bool replace_by_constants(ShapedGraph& shaped, NodeId id, std::vector<Tensor> results) {
  const std::vector<ValueId> outputs = shaped.graph.node(id).outputs;
  if (results.size() < outputs.size()) {
    throw Error(ErrorCode::kInvalidModel,
                to_text(shaped.graph.describe(id), ": has ", outputs.size(),
                        " outputs, the operator makes ", results.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) continue;
    // The node loses this output; a node without outputs is dead and removed later.
    shaped.graph.set_constant(outputs[i], std::make_shared<const Tensor>(std::move(results[i])));
    learn_constant(shaped, outputs[i]);
  }
  return true;
}

// The result of a Shape node: it needs the shape of the input only, not its data.
Tensor shape_of(const Node& node, const Shape& shape) {
  const std::int64_t rank = shape.rank();
  const auto position = [rank](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const std::int64_t begin = position(node.get_int("start", 0));
  const std::int64_t end = std::max(begin, position(node.get_int("end", rank)));
  const std::vector<std::int64_t> dims(shape.dims().begin() + begin, shape.dims().begin() + end);
  return Tensor::of<std::int64_t>({end - begin}, std::span<const std::int64_t>(dims));
}

enum class QdqOfConstants : std::uint8_t { kKeep, kFold };

// Returns whether the node became constants.
bool try_fold(ShapedGraph& shaped, NodeId id, QdqOfConstants qdq) {
  const Node& node = shaped.graph.node(id);
  if (node.is("Shape")) {
    const auto& info = slot(shaped, node.inputs[0]);
    if (!info) return false;
    std::vector<Tensor> result;
    result.push_back(shape_of(node, info->shape));
    return replace_by_constants(shaped, id, std::move(result));
  }
  if (node.is("Size")) {
    std::vector<Tensor> result;
    result.push_back(Tensor::scalar<std::int64_t>(slot(shaped, node.inputs[0])->shape.elements()));
    return replace_by_constants(shaped, id, std::move(result));
  }
  if (!all_inputs_constant(shaped.graph, node)) return false;
  const bool is_qdq = node.is("QuantizeLinear") || node.is("DequantizeLinear");
  if (is_qdq && qdq == QdqOfConstants::kKeep) return false;
  std::optional<std::vector<Tensor>> results =
      evaluate_node(shaped.graph, id, shaped.lowered(id).params, shaped.folding.get());
  return results && replace_by_constants(shaped, id, std::move(*results));
}

void infer_node(ShapedGraph& shaped, NodeId id) {
  const Node& node = shaped.graph.node(id);
  const OpDef* def = find_op(node.op_type, node.domain);
  if (def == nullptr) {
    throw Error(ErrorCode::kUnsupported,
                to_text(shaped.graph.describe(id), ": operator ", node.op_type, " (",
                        opset_text(shaped.graph, node), ") is not supported"));
  }
  slot(shaped, static_cast<ValueId>(shaped.graph.value_limit() - 1));  // grows the side table
  const OpContext context(shaped.graph, id, shaped.infos, shaped.lowered(id).params);
  std::vector<ValueInfo> outputs;
  try {
    outputs = def->infer(context);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.starts_with(shaped.graph.describe(id))) throw;
    context.fail(error.code(), message);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    if (i >= outputs.size()) {
      context.fail(ErrorCode::kUnsupported, to_text("output ", i, " is not supported"));
    }
    static_cast<void>(outputs[i].shape.elements());  // throws for absurd sizes before allocation
    learn_output(shaped, id, i, outputs[i]);
  }
}

// Infers the nodes in order. The nodes that an If, Loop or Scan expands to take its place.
class Specializer {
 public:
  Specializer(ShapedGraph& shaped, ExpandBudget& budget) : shaped_(shaped), budget_(budget) {}

  void run() {
    for (const NodeId id : std::vector<NodeId>(shaped_.graph.nodes())) visit(id);
    if (expanded_) shaped_.graph.sort();
    shaped_.graph.remove_dead_nodes();
  }

 private:
  void visit(NodeId id) {
    check_stop_inside();
    if (try_fold(shaped_, id, QdqOfConstants::kKeep)) return;
    if (!shaped_.graph.node(id).has_subgraphs()) return infer_node(shaped_, id);
    const auto added = expand_node(shaped_.graph, id, tools());
    if (!added) return learn(id, infer_subgraphs(shaped_, id, budget_));
    expanded_ = true;
    for (const NodeId next : *added) {
      for (const ValueId input : shaped_.graph.node(next).inputs) {
        if (shaped_.graph.is_constant(input)) learn_constant(shaped_, input);
      }
      // A Loop among the added nodes cannot be expanded further.
      if (shaped_.graph.node(next).is("Loop") && shaped_.graph.node(next).has_subgraphs()) {
        learn(next, infer_subgraphs(shaped_, next, budget_));
      } else {
        visit(next);
      }
    }
  }

  void learn(NodeId id, const std::vector<ValueInfo>& outputs) {
    const std::vector<ValueId>& values = shaped_.graph.node(id).outputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != kNoValue) learn_output(shaped_, id, i, outputs.at(i));
    }
  }

  ExpandTools tools() {
    return {[this](ValueId id) { return known_of(shaped_, id); },
            [this](const Graph& body) {
              ShapedGraph folded = specialize(body, budget_);
              for (const ValueId output : folded.graph.outputs()) {
                const KnownValue known = known_of(folded, output);
                folded.graph.declare(output, known.dtype, known.shape);
              }
              return std::move(folded.graph);
            },
            budget_};
  }

  ShapedGraph& shaped_;
  ExpandBudget& budget_;
  bool expanded_ = false;
};

ShapedGraph specialize(const Graph& graph, const InputShapes& shapes,
                       const std::vector<std::string>& observe, ExpandBudget& budget) {
  ShapedGraph shaped;
  shaped.graph = graph;
  shaped.outputs = graph.outputs().size();
  shaped.folding = budget.folding;
  for (const std::string& name : observe) {
    const std::optional<ValueId> id = graph.find_value(name);
    const bool known = id && !graph.is_constant(*id) &&
                       (graph.is_input(*id) || graph.value(*id).producer != kNoNode);
    if (!known) {
      throw Error(ErrorCode::kUsage,
                  to_text("tensor '", name, "' is not computed by this network"));
    }
    shaped.observed.push_back(*id);
    if (!shaped.graph.is_output(*id)) shaped.graph.add_output(*id);
  }
  shaped.infos.resize(graph.value_limit());
  for (std::size_t i = 0; i < graph.value_limit(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (graph.is_constant(id)) learn_constant(shaped, id);
  }
  learn_inputs(shaped, shapes);
  Specializer(shaped, budget).run();
  return shaped;
}

}  // namespace

const LoweredNode& ShapedGraph::lowered(NodeId id) const {
  static const LoweredNode kNothing;
  return lowered_.contains(id) ? lowered_[id] : kNothing;
}

LoweredNode& ShapedGraph::slot(NodeId id) {
  if (!lowered_.contains(id)) lowered_.resize(index_of(id) + 1);
  return lowered_[id];
}

void ShapedGraph::lower_node(NodeId id, std::string_view op_type, LoweredParams params) {
  LoweredNode& lowered = slot(id);
  if (lowered.origin.empty()) lowered.origin = graph.node(id).op_type;
  lowered.params = std::move(params);
  graph.set_op(id, std::string(op_type), std::string(kLoweredDomain));
}

IdMap<NodeId, std::size_t> ShapedGraph::positions() const {
  const std::vector<NodeId>& order = graph.nodes();
  IdMap<NodeId, std::size_t> positions(node_limit(graph));
  for (std::size_t i = 0; i < order.size(); ++i) positions[order[i]] = i;
  return positions;
}

void ShapedGraph::mark_integer(NodeId id) { slot(id).integer = true; }

ValueId ShapedGraph::add_value(std::string_view base, ValueInfo info) {
  const ValueId id = graph.add_value(graph.unique_name(base));
  infos.resize(graph.value_limit());
  infos[id] = std::move(info);
  return id;
}

ValueId ShapedGraph::add_constant(std::string_view base, Tensor tensor) {
  ValueInfo info{tensor.dtype(), tensor.shape()};
  const ValueId id = graph.add_constant(graph.unique_name(base), std::move(tensor));
  infos.resize(graph.value_limit());
  infos[id] = std::move(info);
  return id;
}

ShapedGraph specialize(const Graph& graph, const InputShapes& shapes,
                       const std::vector<std::string>& observe,
                       std::shared_ptr<FoldBudget> folding) {
  if (folding == nullptr) folding = std::make_shared<FoldBudget>(graph);
  ExpandBudget budget{kMaxLoopNodes, std::move(folding)};
  return specialize(graph, shapes, observe, budget);
}

ShapedGraph specialize(const Graph& graph, ExpandBudget& budget) {
  budget.spend(static_cast<std::int64_t>(graph.nodes().size()));
  return specialize(graph, {}, {}, budget);
}

void infer_missing(ShapedGraph& shaped) {
  shaped.infos.resize(shaped.graph.value_limit());
  for (std::size_t i = 0; i < shaped.graph.value_limit(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (shaped.graph.is_constant(id) && !shaped.infos[id]) learn_constant(shaped, id);
  }
  for (const NodeId id : shaped.graph.nodes()) {
    const Node& node = shaped.graph.node(id);
    const bool missing = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output != kNoValue && !shaped.infos[output];
    });
    if (missing) infer_node(shaped, id);
  }
}

void fold_all_constants(ShapedGraph& shaped) {
  const std::vector<NodeId> order = shaped.graph.nodes();
  for (const NodeId id : order) {
    check_stop_inside();
    try_fold(shaped, id, QdqOfConstants::kFold);
  }
  shaped.graph.remove_dead_nodes();
}

}  // namespace qtool
