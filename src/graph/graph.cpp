#include "qtool/graph/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/index_of.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

[[noreturn]] void fail_model(const std::string& message) {
  throw Error(ErrorCode::kInvalidModel, message);
}

// The position of an item, which occurs once. Searched from the front, where passes that walk
// forwards find it early.
template <typename T>
void erase_value(std::vector<T>& items, T item) {
  const auto at = std::find(items.begin(), items.end(), item);
  if (at != items.end()) items.erase(at);
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
bool Graph::is_output(ValueId id) const { return id != kNoValue && record(id).is_output; }

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

std::vector<ValueId> Graph::living_values() const {
  std::vector<ValueId> living;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueRecord& r = values_[i];
    if (r.is_input || r.is_output || !r.consumers.empty() || r.value.producer != kNoNode) {
      living.push_back(static_cast<ValueId>(i));
    }
  }
  return living;
}

std::string Graph::describe(NodeId id) const {
  const Node& n = node(id);
  if (!n.name.empty()) return concat("node '", n.name, "' (", n.op_type, ")");
  if (const ValueId output = first_output(n); output != kNoValue) {
    return concat("node of output '", value(output).name, "' (", n.op_type, ")");
  }
  return concat("unnamed node (", n.op_type, ")");
}

ValueId Graph::add_value(std::string name) {
  const auto id = static_cast<ValueId>(values_.size());
  const auto [it, inserted] = by_name_.try_emplace(name, id);
  if (!inserted) fail_model(concat("value '", name, "' is defined twice"));
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
  if (!by_name_.contains(std::string(base))) return std::string(base);
  // Numbers are given out in order, so doubling and bisection find the first free one.
  const auto taken = [&](std::int64_t n) { return by_name_.contains(concat(base, "_", n)); };
  std::int64_t high = 1;
  while (taken(high)) high *= 2;
  std::int64_t low = high / 2;  // taken, or 0
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (taken(middle) ? low : high) = middle;
  }
  return concat(base, "_", high);
}

void Graph::add_input(ValueId id) {
  QTOOL_CHECK(!record(id).is_input);
  record(id).is_input = true;
  inputs_.push_back(id);
}

void Graph::add_output(ValueId id) {
  record(id).is_output = true;
  outputs_.push_back(id);
}

void Graph::set_inputs(std::vector<ValueId> ids) {
  for (const ValueId id : std::exchange(inputs_, std::move(ids))) record(id).is_input = false;
  for (const ValueId id : inputs_) record(id).is_input = true;
}

void Graph::set_outputs(std::vector<ValueId> ids) {
  for (const ValueId id : std::exchange(outputs_, std::move(ids))) record(id).is_output = false;
  for (const ValueId id : outputs_) record(id).is_output = true;
}

void Graph::replace_output(ValueId from, ValueId to) {
  std::ranges::replace(outputs_, from, to);
  record(from).is_output = false;
  record(to).is_output = true;
}

void Graph::set_constant(ValueId id, std::shared_ptr<const Tensor> tensor) {
  QTOOL_CHECK(tensor != nullptr);
  Value& v = record(id).value;
  if (v.producer != kNoNode) {
    for (ValueId& output : record(v.producer).node.outputs) {
      if (output == id) output = kNoValue;
    }
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
    fail_model(concat("value '", name, "' is defined twice"));
  }
  by_name_.erase(v.name);
  v.name = std::move(name);
}

void Graph::add_consumer(ValueId value, NodeId node) {
  // Whether the node is listed as a reader is decided by its inputs, which are few; a value may
  // have very many readers.
  if (value == kNoValue) return;
  const std::vector<ValueId>& reads = record(node).node.inputs;
  if (std::count(reads.begin(), reads.end(), value) == 1) record(value).consumers.push_back(node);
}

void Graph::drop_consumer(ValueId value, NodeId node) {
  if (value == kNoValue) return;
  const std::vector<ValueId>& reads = record(node).node.inputs;
  if (std::find(reads.begin(), reads.end(), value) != reads.end()) return;
  std::vector<NodeId>& readers = record(value).consumers;
  if (!readers.empty() &&
      readers.back() == node) {  // the usual case in a backward walk over the graph
    readers.pop_back();
  } else {
    erase_value(readers, node);
  }
}

NodeId Graph::add_node(Node node, NodeId before) {
  const auto id = static_cast<NodeId>(nodes_.size());
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    ValueRecord& r = record(output);
    if (r.value.producer != kNoNode || r.value.constant != nullptr || r.is_input) {
      fail_model(concat("value '", r.value.name, "' is defined twice"));
    }
    r.value.producer = id;
  }
  nodes_.push_back({std::move(node), true});
  for (const ValueId input : nodes_.back().node.inputs) {
    // A new node can only be the last reader: no search, constants may have very many.
    if (input == kNoValue) continue;
    std::vector<NodeId>& readers = record(input).consumers;
    if (readers.empty() || readers.back() != id) readers.push_back(id);
  }
  order_.insert(before == kNoNode ? order_.end() : std::find(order_.begin(), order_.end(), before),
                id);
  return id;
}

void Graph::remove_node(NodeId id) {
  Node& n = record(id).node;
  const std::vector<ValueId> inputs = std::exchange(n.inputs, {});
  for (const ValueId input : inputs) drop_consumer(input, id);
  for (const ValueId output : n.outputs) {
    if (output != kNoValue) record(output).value.producer = kNoNode;
  }
  nodes_[index_of(id)] = {{}, false};
  erase_value(order_, id);
}

void Graph::set_input(NodeId id, std::size_t index, ValueId value) {
  Node& n = record(id).node;
  if (index >= n.inputs.size()) n.inputs.resize(index + 1, kNoValue);
  if (n.inputs[index] == value) return;
  const ValueId old = std::exchange(n.inputs[index], value);
  drop_consumer(old, id);
  add_consumer(value, id);
}

void Graph::set_output(NodeId id, std::size_t index, ValueId value) {
  Node& n = record(id).node;
  if (index >= n.outputs.size()) n.outputs.resize(index + 1, kNoValue);
  if (n.outputs[index] != kNoValue) record(n.outputs[index]).value.producer = kNoNode;
  n.outputs[index] = value;
  if (value != kNoValue) {
    QTOOL_CHECK(record(value).value.producer == kNoNode);
    record(value).value.producer = id;
  }
}

void Graph::truncate_inputs(NodeId id, std::size_t count) {
  Node& n = record(id).node;
  while (n.inputs.size() > count) {
    const ValueId old = n.inputs.back();
    n.inputs.pop_back();
    drop_consumer(old, id);
  }
}

void Graph::truncate_outputs(NodeId id, std::size_t count) {
  Node& n = record(id).node;
  while (n.outputs.size() > count) {
    if (n.outputs.back() != kNoValue) record(n.outputs.back()).value.producer = kNoNode;
    n.outputs.pop_back();
  }
}

void Graph::set_op(NodeId id, std::string op_type, std::string domain) {
  Node& n = record(id).node;
  n.op_type = std::move(op_type);
  n.domain = std::move(domain);
}

Node::AttributeMap& Graph::attributes(NodeId id) { return record(id).node.attributes; }

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  const std::vector<NodeId> readers = std::exchange(record(from).consumers, {});
  for (const NodeId reader : readers) {
    std::vector<ValueId>& reads = record(reader).node.inputs;
    const bool listed = std::find(reads.begin(), reads.end(), to) != reads.end();
    std::replace(reads.begin(), reads.end(), from, to);
    if (!listed) record(to).consumers.push_back(reader);
  }
}

std::int64_t Graph::remove_dead_nodes() {
  const auto is_read = [&](ValueId output) {
    return output != kNoValue && (record(output).is_output || !record(output).consumers.empty());
  };
  // Backwards: a consumer is removed before its producer. The order is repaired once, at the end.
  std::vector<NodeId> order = std::exchange(order_, {});
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const std::vector<ValueId>& outputs = record(*id).node.outputs;
    if (!std::any_of(outputs.begin(), outputs.end(), is_read)) remove_node(*id);
  }
  const auto removed = std::erase_if(order, [&](NodeId id) { return !contains(id); });
  order_ = std::move(order);
  return static_cast<std::int64_t>(removed);
}

void Graph::sort() {
  // Kahn's algorithm that always takes the ready node listed first, so that order changes least.
  std::vector<std::int32_t> waiting(nodes_.size(), 0);
  std::vector<std::size_t> position(nodes_.size(), 0);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::size_t n = index_of(order_[i]);
    position[n] = i;
    std::vector<NodeId> producers;
    for (const ValueId input : nodes_[n].node.inputs) {
      if (input != kNoValue && record(input).value.producer != kNoNode) {
        producers.push_back(record(input).value.producer);
      }
    }
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    waiting[n] = static_cast<std::int32_t>(producers.size());
    if (producers.empty()) ready.push_back(i);
  }
  std::make_heap(ready.begin(), ready.end(), std::greater<>());
  std::vector<NodeId> sorted;
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), std::greater<>());
    const NodeId id = order_[ready.back()];
    ready.pop_back();
    sorted.push_back(id);
    std::vector<NodeId> followers;
    for (const ValueId output : node(id).outputs) {
      if (output == kNoValue) continue;
      const std::vector<NodeId>& readers = record(output).consumers;
      followers.insert(followers.end(), readers.begin(), readers.end());
    }
    std::sort(followers.begin(), followers.end());
    followers.erase(std::unique(followers.begin(), followers.end()), followers.end());
    for (const NodeId follower : followers) {
      if (--waiting[index_of(follower)] == 0) {
        ready.push_back(position[index_of(follower)]);
        std::push_heap(ready.begin(), ready.end(), std::greater<>());
      }
    }
  }
  if (sorted.size() != order_.size()) {
    for (const NodeId id : order_) {
      if (waiting[index_of(id)] > 0) fail_model(concat(describe(id), ": is part of a cycle"));
    }
  }
  order_ = std::move(sorted);
}

void Graph::check() const {
  std::vector<char> defined(values_.size(), 0);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const ValueRecord& r = values_[i];
    defined[i] = r.is_input || r.value.constant != nullptr ? 1 : 0;
    if (defined[i] != 0 && r.value.producer != kNoNode) {
      fail_model(concat("value '", r.value.name, "' is an input or a constant and has a producer"));
    }
    const auto found = by_name_.find(r.value.name);
    if (found == by_name_.end() || found->second != static_cast<ValueId>(i)) {
      fail_model(concat("value '", r.value.name, "' is not the one its name leads to"));
    }
  }
  // Constants may have very many readers.
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
  for (const NodeId id : order_) {
    const Node& n = node(id);
    for (const ValueId input : n.inputs) {
      if (input == kNoValue) continue;
      if (defined[index_of(input)] == 0) {
        fail_model(concat(describe(id), ": input '", value(input).name,
                          "' is not defined before it is read"));
      }
      if (!is_reader(input, id)) {
        fail_model(
            concat(describe(id), ": is missing among the readers of '", value(input).name, "'"));
      }
    }
    for (const ValueId output : n.outputs) {
      if (output == kNoValue) continue;
      if (value(output).producer != id || defined[index_of(output)] != 0) {
        fail_model(concat(describe(id), ": output '", value(output).name, "' is defined twice"));
      }
      defined[index_of(output)] = 1;
    }
  }
  for (const ValueId output : outputs_) {
    if (defined[index_of(output)] == 0) {
      fail_model(concat("graph output '", value(output).name, "' is not defined"));
    }
  }
}

}  // namespace qtool
