#include "compare/diff/model_diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "compare/quantized_parts.h"
#include "compare/stored_affines.h"
#include "graph/node_name.h"
#include "graph/onnx/schema.h"
#include "graph/passes/constant_node.h"
#include "graph/subgraphs.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

using TensorPtr = std::shared_ptr<const Tensor>;

bool is_quantization(const Node& node) {
  return node.is("QuantizeLinear") || node.is("DequantizeLinear");
}

std::string_view tensor_bytes(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

bool equal_attribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* p = std::get_if<TensorPtr>(&a)) return identical(**p, *std::get<TensorPtr>(b));
  const auto* subgraph = std::get_if<SubgraphPtr>(&a);
  if (subgraph == nullptr) return a == b;
  return fingerprint((*subgraph)->graph) == fingerprint(std::get<SubgraphPtr>(b)->graph);
}

std::string value_text(const Value& value) {
  const std::string text(value.dtype ? name_of(*value.dtype) : "any type");
  std::string extents;
  for (const Dim& dim : value.shape.value_or(std::vector<Dim>())) {
    const std::string symbol = dim.symbol.empty() ? "?" : dim.symbol;
    extents += to_text(extents.empty() ? "" : ", ", dim.size ? to_text(*dim.size) : symbol);
  }
  return value.shape ? to_text(text, " [", extents, "]") : text;
}

/// A model with the queries that the comparison needs.
class Side {
 public:
  explicit Side(const Graph& graph) : graph_(graph) {
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (is_quantization(node)) {
        ++quantization_;
      } else if (!node.is("Constant")) {
        nodes_.push_back(id);
      }
    }
  }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t quantization() const { return quantization_; }
  [[nodiscard]] std::string name(NodeId id) const { return std::string(name_of(graph_, id)); }

  /// The reals of a constant input, a dequantized one too; null if the input is not constant.
  [[nodiscard]] TensorPtr constant(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    if (producer != kNoNode && graph_.node(producer).is("Constant")) {
      return tensor_of_constant(graph_.node(producer));
    }
    return reals_of(graph_, id);
  }

  /// The value in front of the QuantizeLinear and DequantizeLinear nodes that give `id`; `id`
  /// itself if there are none.
  [[nodiscard]] ValueId real(ValueId id) const {
    for (NodeId at = graph_.value(id).producer; at != kNoNode && is_quantization(graph_.node(at));
         at = graph_.value(id).producer) {
      if (!graph_.node(at).has_input(0)) break;
      id = graph_.node(at).inputs[0];
    }
    return id;
  }

  /// A hash of operator, attributes and constants: it matches nodes whose names differ.
  [[nodiscard]] std::uint64_t likeness(NodeId id) const {
    const Node& node = graph_.node(id);
    std::uint64_t hash = hash_bytes(to_text(node.domain, "\n", node.op_type));
    for (const auto& [key, value] : node.attributes) {
      hash = hash_bytes(key, hash);
      if (const auto* tensor = std::get_if<TensorPtr>(&value))
        hash = hash_bytes(tensor_bytes(**tensor), hash);
      if (const auto* number = std::get_if<std::int64_t>(&value))
        hash = hash_bytes(to_text(*number), hash);
      if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) {
        hash = hash_bytes(std::as_bytes(std::span(*numbers)), hash);
      }
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorPtr tensor = node.has_input(i) ? constant(node.inputs[i]) : nullptr;
      hash = hash_bytes(tensor == nullptr ? "flows" : tensor_bytes(*tensor), hash);
    }
    return hash;
  }

 private:
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::int64_t quantization_ = 0;
};

/// The scales of the model in the order of the graph, each with the name of its activation, or with
/// the node and input that read the weights.
std::vector<std::pair<std::string, Affines>> scales_of(const Side& side) {
  std::vector<std::pair<std::string, Affines>> scales;
  for (const NodeId id : side.graph().nodes()) {
    const Node& node = side.graph().node(id);
    if (!is_quantization(node) || !node.has_input(0) || !node.has_output(0)) continue;
    const ValueId source = node.inputs[0];
    std::string name;
    if (node.is("QuantizeLinear")) {
      name = side.graph().value(source).name;
    } else if (side.constant(source) != nullptr) {
      std::vector<NodeId> readers = side.graph().consumers(node.outputs[0]);
      if (readers.empty()) continue;
      std::sort(readers.begin(), readers.end());
      const Node& reader = side.graph().node(readers[0]);
      const auto at = std::find(reader.inputs.begin(), reader.inputs.end(), node.outputs[0]);
      name = to_text(side.name(readers[0]), ", input ", at - reader.inputs.begin());
    } else {
      continue;  // the QuantizeLinear in front has the same scales
    }
    if (std::optional<Affines> affines = stored_affines(side.graph(), node)) {
      scales.emplace_back(std::move(name), *std::move(affines));
    }
  }
  return scales;
}

ScaleDiff compare_scales(const std::string& name, const Affines& a, const Affines& b) {
  ScaleDiff diff{name, a, b};
  if (a.scales.size() != b.scales.size() || a.axis != b.axis) {
    diff.scale = 1.0;
    return diff;
  }
  for (std::size_t i = 0; i < a.scales.size(); ++i) {
    const double x = static_cast<double>(a.scales[i]);
    const double y = static_cast<double>(b.scales[i]);
    if (x != y) {
      const double apart = std::abs(x - y) / std::max(std::abs(x), std::abs(y));
      diff.scale = std::isfinite(apart) ? std::max(diff.scale, apart) : 1.0;
    }
    diff.zero_points_differ |= a.at(i).zero_point != b.at(i).zero_point;
  }
  return diff;
}

class Comparison {
 public:
  /// In both graphs, each QuantizeLinear of a constant must be replaced by its integers, see
  /// with_integer_weights().
  Comparison(Graph a, Graph b)
      : graph_a_(std::move(a)), graph_b_(std::move(b)), a_(graph_a_), b_(graph_b_) {}

  ModelDiff run() {
    compare_ports("input", a_.graph().inputs(), b_.graph().inputs());
    compare_ports("output", a_.graph().outputs(), b_.graph().outputs());
    compare_opsets();
    match();
    for (const NodeId id : a_.nodes()) {
      const auto partner = partner_.find(id);
      if (partner != partner_.end()) compare_nodes(id, partner->second);
    }
    compare_all_scales();
    return std::move(diff_);
  }

 private:
  void compare_ports(std::string_view what, const std::vector<ValueId>& a,
                     const std::vector<ValueId>& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const auto port = [&](const Side& side, const std::vector<ValueId>& ids) {
        if (i >= ids.size()) return std::string("absent");
        const Value& value = side.graph().value(ids[i]);
        return to_text("'", value.name, "' ", value_text(value));
      };
      const std::string of_a = port(a_, a);
      const std::string of_b = port(b_, b);
      if (of_a != of_b)
        diff_.interface.push_back(to_text(what, " ", i, ": ", of_a, " in A, ", of_b, " in B"));
    }
  }

  void compare_opsets() {
    std::set<std::string> domains;
    for (const Side* side : {&a_, &b_}) {
      for (const auto& [domain, version] : side->graph().info.opsets) domains.insert(domain);
    }
    for (const std::string& domain : domains) {
      const auto version = [&](const Side& side) {
        const auto found = side.graph().info.opsets.find(domain);
        return found == side.graph().info.opsets.end() ? std::string("absent")
                                                       : to_text(found->second);
      };
      if (version(a_) == version(b_)) continue;
      diff_.interface.push_back(to_text("opset", domain.empty() ? "" : to_text(" of ", domain),
                                        ": ", version(a_), " in A, ", version(b_), " in B"));
    }
  }

  void match() {
    std::unordered_map<std::string, NodeId> by_name;
    for (const NodeId id : b_.nodes()) by_name.try_emplace(b_.name(id), id);
    std::set<NodeId> met;
    std::vector<NodeId> left;
    for (const NodeId id : a_.nodes()) {
      const auto found = by_name.find(a_.name(id));
      if (found != by_name.end() && met.insert(found->second).second) {
        partner_.emplace(id, found->second);
      } else {
        left.push_back(id);
      }
    }
    std::unordered_map<std::uint64_t, std::deque<NodeId>> alike;
    for (const NodeId id : b_.nodes()) {
      if (!met.contains(id)) alike[b_.likeness(id)].push_back(id);
    }
    for (const NodeId id : left) {
      const auto found = alike.find(a_.likeness(id));
      if (found == alike.end() || found->second.empty()) {
        diff_.only_a.push_back(a_.graph().describe(id));
        continue;
      }
      const NodeId other = found->second.front();
      found->second.pop_front();
      met.insert(other);
      partner_.emplace(id, other);
      diff_.renamed.emplace_back(a_.name(id), b_.name(other));
    }
    for (const NodeId id : b_.nodes()) {
      if (!met.contains(id)) diff_.only_b.push_back(b_.graph().describe(id));
    }
    diff_.nodes = static_cast<std::int64_t>(partner_.size());
  }

  void changed(NodeId id, std::string_view what) {
    diff_.changed.push_back(to_text(a_.graph().describe(id), ": ", what));
  }

  /// Whether two values are the same output of matched nodes or the same input of the models.
  [[nodiscard]] bool same_source(ValueId a, ValueId b) const {
    a = a_.real(a);
    b = b_.real(b);
    const Value& value_a = a_.graph().value(a);
    const Value& value_b = b_.graph().value(b);
    if ((value_a.producer == kNoNode) != (value_b.producer == kNoNode)) return false;
    if (value_a.producer == kNoNode) {
      const auto place = [](const Side& side, ValueId id) {
        const std::vector<ValueId>& inputs = side.graph().inputs();
        return std::find(inputs.begin(), inputs.end(), id) - inputs.begin();
      };
      return place(a_, a) == place(b_, b);
    }
    const auto partner = partner_.find(value_a.producer);
    if (partner == partner_.end() || partner->second != value_b.producer) return false;
    const auto port = [](const Node& node, ValueId id) {
      return std::find(node.outputs.begin(), node.outputs.end(), id) - node.outputs.begin();
    };
    return port(a_.graph().node(value_a.producer), a) == port(b_.graph().node(value_b.producer), b);
  }

  /// Whether an attribute has the value that ONNX assumes if the attribute is absent.
  static bool is_default(const Side& side, const Node& node, const std::string& key) {
    const auto opset = side.graph().info.opsets.find("");
    if (!node.domain.empty() || opset == side.graph().info.opsets.end()) return false;
    return OperatorSchema(node.op_type, opset->second).is_default(key, node.attributes.at(key));
  }

  void compare_nodes(NodeId id_a, NodeId id_b) {
    const Node& a = a_.graph().node(id_a);
    const Node& b = b_.graph().node(id_b);
    if (a.op_type != b.op_type || a.domain != b.domain) {
      changed(id_a, to_text("is ", b.op_type, " in B"));
      return;
    }
    std::set<std::string> keys;
    for (const Node* node : {&a, &b}) {
      for (const auto& [key, value] : node->attributes) keys.insert(key);
    }
    for (const std::string& key : keys) {
      const auto of_a = a.attributes.find(key);
      const auto of_b = b.attributes.find(key);
      if (of_a == a.attributes.end()) {
        if (!is_default(b_, b, key)) changed(id_a, to_text("attribute '", key, "' only in B"));
      } else if (of_b == b.attributes.end()) {
        if (!is_default(a_, a, key)) changed(id_a, to_text("attribute '", key, "' only in A"));
      } else if (!equal_attribute(of_a->second, of_b->second)) {
        changed(id_a, to_text("attribute '", key, "' differs"));
      }
    }
    for (std::size_t i = 0; i < std::max(a.inputs.size(), b.inputs.size()); ++i) {
      if (a.has_input(i) != b.has_input(i)) {
        changed(id_a, to_text("input ", i, " only in ", a.has_input(i) ? "A" : "B"));
      } else if (a.has_input(i)) {
        compare_inputs(id_a, static_cast<std::int64_t>(i), a.inputs[i], b.inputs[i]);
      }
    }
  }

  void compare_inputs(NodeId node, std::int64_t index, ValueId a, ValueId b) {
    const TensorPtr x = a_.constant(a);
    const TensorPtr y = b_.constant(b);
    if ((x == nullptr) != (y == nullptr)) {
      changed(node, to_text("input ", index, " is a constant only in ", x != nullptr ? "A" : "B"));
      return;
    }
    if (x == nullptr) {
      if (!same_source(a, b)) changed(node, to_text("input ", index, " comes from elsewhere"));
      return;
    }
    WeightDiff weight{
        a_.name(node), index, a_.graph().value(a).name, b_.graph().value(b).name, "", {}};
    if (x->shape() != y->shape() || x->dtype() != y->dtype()) {
      weight.other = to_text(name_of(x->dtype()), " ", x->shape().to_string(), " in A, ",
                             name_of(y->dtype()), " ", y->shape().to_string(), " in B");
    } else {
      weight.diff = diff_of(*x, *y);
    }
    diff_.weights.push_back(std::move(weight));
  }

  void compare_all_scales() {
    std::unordered_map<std::string, std::string> name_in_b;  // by the name in A
    for (const auto& [a, b] : partner_) {
      const Node& of_a = a_.graph().node(a);
      const Node& of_b = b_.graph().node(b);
      for (std::size_t i = 0; i < of_a.outputs.size(); ++i) {
        if (!of_a.has_output(i) || !of_b.has_output(i)) continue;
        name_in_b[a_.graph().value(of_a.outputs[i]).name] = b_.graph().value(of_b.outputs[i]).name;
      }
      for (std::size_t i = 0; i < of_a.inputs.size(); ++i) {
        name_in_b[to_text(a_.name(a), ", input ", i)] = to_text(b_.name(b), ", input ", i);
      }
    }
    const std::vector<std::pair<std::string, Affines>> of_b = scales_of(b_);
    std::unordered_map<std::string, const Affines*> by_name;
    for (const auto& [name, affines] : of_b) by_name.try_emplace(name, &affines);
    std::set<std::string> met;
    std::set<std::string> seen;
    for (const auto& [name, affines] : scales_of(a_)) {
      if (!seen.insert(name).second) continue;
      const auto renamed = name_in_b.find(name);
      const std::string& wanted = renamed == name_in_b.end() ? name : renamed->second;
      const auto found = by_name.find(wanted);
      if (found == by_name.end()) {
        diff_.scales_only_a.push_back(name);
        continue;
      }
      met.insert(wanted);
      diff_.scales.push_back(compare_scales(name, affines, *found->second));
    }
    for (const auto& [name, affines] : of_b) {
      if (met.insert(name).second) diff_.scales_only_b.push_back(name);
    }
  }

  Graph graph_a_;
  Graph graph_b_;
  Side a_;
  Side b_;
  std::unordered_map<NodeId, NodeId> partner_;
  ModelDiff diff_;
};

}  // namespace

ModelDiff diff_of(const Graph& a, const Graph& b, const StopCheck& stop) {
  const std::int64_t quantize_a = Side(a).quantization();
  const std::int64_t quantize_b = Side(b).quantization();
  // A quantized model is made from a prepared one, so an unquantized model is prepared too.
  const bool prepared = (quantize_a > 0) != (quantize_b > 0);
  const auto graph_of = [&](const Graph& graph, std::int64_t quantized) {
    Graph compared = prepared ? prepare(graph, stop) : graph;
    return quantized > 0 ? with_integer_weights(std::move(compared)) : compared;
  };
  ModelDiff diff = Comparison(graph_of(a, quantize_a), graph_of(b, quantize_b)).run();
  diff.prepared = prepared;
  diff.quantize_a = quantize_a;
  diff.quantize_b = quantize_b;
  return diff;
}

}  // namespace qtool
