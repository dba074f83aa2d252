#include "qtool/graph/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/free_name.h"
#include "graph/id_map.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

[[noreturn]] void fail_model(const std::string& message) {
  throw Error(ErrorCode::kInvalidModel, message);
}

}  // namespace

Graph::ValueRecord& Graph::record(ValueId id) {
  QTOOL_CHECK(index_of(id) < values_.size());
  return values_[index_of(id)];
}
const Graph::ValueRecord& Graph::record(ValueId id) const {
  QTOOL_CHECK(index_of(id) < values_.size());
  return values_[index_of(id)];
}
Graph::NodeRecord& Graph::record(NodeId id) {
  QTOOL_CHECK(index_of(id) < nodes_.size() && nodes_[index_of(id)].alive);
  return nodes_[index_of(id)];
}
const Graph::NodeRecord& Graph::record(NodeId id) const {
  QTOOL_CHECK(index_of(id) < nodes_.size() && nodes_[index_of(id)].alive);
  return nodes_[index_of(id)];
}

const Node& Graph::node(NodeId id) const& { return record(id).node; }
bool Graph::contains(NodeId id) const {
  return index_of(id) < nodes_.size() && nodes_[index_of(id)].alive;
}
const Value& Graph::value(ValueId id) const& { return record(id).value; }
const std::vector<NodeId>& Graph::consumers(ValueId id) const& { return record(id).consumers; }
bool Graph::is_input(ValueId id) const { return id != kNoValue && record(id).is_input; }
bool Graph::is_output(ValueId id) const { return id != kNoValue && record(id).output_port >= 0; }

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

std::vector<ValueId> Graph::living_values() const {
  std::vector<ValueId> living;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueRecord& r = values_[i];
    if (r.is_input || r.output_port >= 0 || !r.consumers.empty() || r.value.producer != kNoNode) {
      living.push_back(static_cast<ValueId>(i));
    }
  }
  return living;
}

std::string Graph::describe(NodeId id) const {
  const Node& n = node(id);
  if (!n.name.empty()) return to_text("node '", n.name, "' (", n.op_type, ")");
  if (const ValueId output = first_output(n); output != kNoValue) {
    return to_text("node of output '", value(output).name, "' (", n.op_type, ")");
  }
  return to_text("unnamed node (", n.op_type, ")");
}

ValueId Graph::add_value(std::string name) {
  const auto id = static_cast<ValueId>(values_.size());
  const auto [it, inserted] = by_name_.try_emplace(name, id);
  if (!inserted) fail_model(to_text("value '", name, "' is defined twice"));
  values_.push_back({});
  values_.back().value.name = std::move(name);
  return id;
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const Tensor> tensor) {
  const ValueId id = add_value(std::move(name));
  set_constant(id, std::move(tensor));
  return id;
}

std::string Graph::unique_name(std::string_view base) const {
  return free_name(base, [&](const std::string& name) { return by_name_.contains(name); });
}

void Graph::add_input(ValueId id) {
  QTOOL_CHECK(!record(id).is_input);
  record(id).is_input = true;
  inputs_.push_back(id);
}

void Graph::add_output(ValueId id) {
  record(id).output_port = std::ssize(outputs_);
  outputs_.push_back(id);
}

void Graph::set_inputs(std::vector<ValueId> ids) {
  for (const ValueId id : std::exchange(inputs_, std::move(ids))) record(id).is_input = false;
  for (const ValueId id : inputs_) record(id).is_input = true;
}

void Graph::set_outputs(std::vector<ValueId> ids) {
  for (const ValueId id : std::exchange(outputs_, {})) record(id).output_port = -1;
  for (const ValueId id : ids) add_output(id);
}

void Graph::replace_output(ValueId from, ValueId to) {
  const std::ptrdiff_t port = std::exchange(record(from).output_port, -1);
  if (port < 0) return;
  outputs_[static_cast<std::size_t>(port)] = to;
  record(to).output_port = port;
}

void Graph::set_constant(ValueId id, std::shared_ptr<const Tensor> tensor) {
  QTOOL_CHECK(tensor != nullptr);
  Value& v = record(id).value;
  if (v.producer != kNoNode) {
    record(v.producer).node.outputs[record(id).port] = kNoValue;
    v.producer = kNoNode;
  }
  std::vector<Dim> dims;
  for (const std::int64_t extent : tensor->shape().dims()) dims.push_back({extent, ""});
  v.dtype = tensor->dtype();
  v.shape = std::move(dims);
  v.constant = std::move(tensor);
}

void Graph::declare(ValueId id, std::optional<DType> dtype, std::optional<std::vector<Dim>> shape) {
  Value& v = record(id).value;
  v.dtype = dtype;
  v.shape = std::move(shape);
}

void Graph::rename_value(ValueId id, std::string name) {
  Value& v = record(id).value;
  if (v.name == name) return;
  if (!by_name_.try_emplace(name, id).second) {
    fail_model(to_text("value '", name, "' is defined twice"));
  }
  by_name_.erase(v.name);
  v.name = std::move(name);
}

void Graph::set_op(NodeId id, std::string op_type, std::string domain) {
  Node& n = record(id).node;
  n.op_type = std::move(op_type);
  n.domain = std::move(domain);
}

Node::AttributeMap& Graph::attributes(NodeId id) { return record(id).node.attributes; }

void Graph::check() const {
  IdMap<ValueId, char> defined(values_.size(), 0);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const ValueRecord& r = values_[i];
    defined[id] = r.is_input || r.value.constant != nullptr ? 1 : 0;
    if (defined[id] != 0 && r.value.producer != kNoNode) {
      fail_model(
          to_text("value '", r.value.name, "' is an input or a constant and has a producer"));
    }
    const auto found = by_name_.find(r.value.name);
    if (found == by_name_.end() || found->second != id) {
      fail_model(to_text("value '", r.value.name, "' is not the one its name leads to"));
    }
  }
  // A constant may have very many readers. A set is then faster than a search.
  constexpr std::size_t kFew = 32;
  std::unordered_map<ValueId, std::unordered_set<NodeId>> crowds;
  const auto is_reader = [&](ValueId value_id, NodeId id) {
    const std::vector<NodeId>& readers = consumers(value_id);
    if (readers.size() <= kFew) {
      return std::find(readers.begin(), readers.end(), id) != readers.end();
    }
    std::unordered_set<NodeId>& crowd = crowds[value_id];
    if (crowd.empty()) crowd.insert(readers.begin(), readers.end());
    return crowd.contains(id);
  };
  for (const NodeId id : nodes()) {
    const Node& n = node(id);
    for (const ValueId input : n.inputs) {
      if (input == kNoValue) continue;
      if (defined[input] == 0) {
        fail_model(to_text(describe(id), ": input '", value(input).name,
                           "' is not defined before it is read"));
      }
      if (!is_reader(input, id)) {
        fail_model(
            to_text(describe(id), ": is missing among the readers of '", value(input).name, "'"));
      }
    }
    for (const ValueId output : n.outputs) {
      if (output == kNoValue) continue;
      if (value(output).producer != id || defined[output] != 0) {
        fail_model(to_text(describe(id), ": output '", value(output).name, "' is defined twice"));
      }
      defined[output] = 1;
    }
  }
  for (const ValueId output : outputs_) {
    if (defined[output] == 0) {
      fail_model(to_text("graph output '", value(output).name, "' is not defined"));
    }
  }
}

}  // namespace qtool
