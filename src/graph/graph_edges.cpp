// The edges of a graph: which nodes read a value and which node produces it. A value may have very
// many readers and a node very many operands. Lists longer than kFew are therefore not searched but
// have an index.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/id_map.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool {
namespace {

constexpr std::size_t kFew = 32;  // up to this length a search costs less than a lookup

}  // namespace

void Graph::add_reader(ValueId value, NodeId node) {
  ValueRecord& r = record(value);
  if (r.places.made != nullptr) r.places.made->emplace(node, r.consumers.size());
  r.consumers.push_back(node);
}

// Removes a node that no longer reads `value` from the readers of `value`.
void Graph::drop_reader(ValueId value, NodeId node) {
  ValueRecord& r = record(value);
  std::vector<NodeId>& readers = r.consumers;
  auto& places = r.places.made;
  if (readers.size() <= kFew) {
    places.reset();
    const auto at = std::ranges::find(readers, node);
    QTOOL_CHECK(at != readers.end());
    readers.erase(at);
    return;
  }
  if (places == nullptr) {
    if (readers.back() == node) return readers.pop_back();  // as in a backward walk over the graph
    places = std::make_unique<std::unordered_map<NodeId, std::size_t>>();
    for (std::size_t i = 0; i < readers.size(); ++i) places->emplace(readers[i], i);
  }
  const auto found = places->find(node);
  QTOOL_CHECK(found != places->end());
  const std::size_t at = found->second;
  places->erase(found);
  if (readers.back() != node) {
    readers[at] = readers.back();
    places->at(readers[at]) = at;
  }
  readers.pop_back();
}

bool Graph::reads(NodeId id, ValueId value) {
  NodeRecord& r = record(id);
  const std::vector<ValueId>& inputs = r.node.inputs;
  auto& ports = r.ports.made;
  if (inputs.size() <= kFew) {
    ports.reset();
    return std::ranges::find(inputs, value) != inputs.end();
  }
  if (ports == nullptr) {
    ports = std::make_unique<std::set<std::pair<ValueId, std::size_t>>>();
    for (std::size_t i = 0; i < inputs.size(); ++i) ports->emplace(inputs[i], i);
  }
  const auto found = ports->lower_bound({value, 0});
  return found != ports->end() && found->first == value;
}

// Updates the index of the inputs after input `port` changed from `from` to `to`.
void Graph::move_port(NodeId id, std::size_t port, ValueId from, ValueId to) {
  auto& ports = record(id).ports.made;
  if (ports == nullptr) return;
  ports->erase({from, port});
  ports->emplace(to, port);
}

NodeId Graph::add_node(Node node, NodeId before) {
  const auto id = static_cast<NodeId>(nodes_.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    ValueRecord& r = record(node.outputs[i]);
    if (r.value.producer != kNoNode || r.value.constant != nullptr || r.is_input) {
      throw Error(ErrorCode::kInvalidModel, to_text("value '", r.value.name, "' is defined twice"));
    }
    r.value.producer = id;
    r.port = i;
  }
  nodes_.emplace_back().node = std::move(node);
  for (const ValueId input : nodes_.back().node.inputs) {
    // A node that reads a value twice is added once. The new node can only be the last reader.
    if (input == kNoValue) continue;
    const std::vector<NodeId>& readers = record(input).consumers;
    if (readers.empty() || readers.back() != id) add_reader(input, id);
  }
  link(id, before);
  return id;
}

void Graph::remove_node(NodeId id) {
  truncate_inputs(id, 0);
  truncate_outputs(id, 0);
  unlink(id);
  nodes_[index_of(id)] = {};
  nodes_[index_of(id)].alive = false;
}

void Graph::set_input(NodeId id, std::size_t index, ValueId value) {
  std::vector<ValueId>& inputs = record(id).node.inputs;
  while (inputs.size() <= index) {
    inputs.push_back(kNoValue);
    if (auto& ports = record(id).ports.made) ports->emplace(kNoValue, inputs.size() - 1);
  }
  const ValueId old = inputs[index];
  if (old == value) return;
  const bool is_new = value != kNoValue && !reads(id, value);
  inputs[index] = value;
  move_port(id, index, old, value);
  if (old != kNoValue && !reads(id, old)) drop_reader(old, id);
  if (is_new) add_reader(value, id);
}

void Graph::set_output(NodeId id, std::size_t index, ValueId value) {
  std::vector<ValueId>& outputs = record(id).node.outputs;
  if (index >= outputs.size()) outputs.resize(index + 1, kNoValue);
  if (outputs[index] != kNoValue) record(outputs[index]).value.producer = kNoNode;
  outputs[index] = value;
  if (value == kNoValue) return;
  ValueRecord& r = record(value);
  QTOOL_CHECK(r.value.producer == kNoNode);
  r.value.producer = id;
  r.port = index;
}

void Graph::truncate_inputs(NodeId id, std::size_t count) {
  std::vector<ValueId>& inputs = record(id).node.inputs;
  while (inputs.size() > count) {
    const ValueId old = inputs.back();
    inputs.pop_back();
    if (auto& ports = record(id).ports.made) ports->erase({old, inputs.size()});
    if (old != kNoValue && !reads(id, old)) drop_reader(old, id);
  }
}

void Graph::truncate_outputs(NodeId id, std::size_t count) {
  std::vector<ValueId>& outputs = record(id).node.outputs;
  for (; outputs.size() > count; outputs.pop_back()) {
    if (outputs.back() != kNoValue) record(outputs.back()).value.producer = kNoNode;
  }
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  const std::vector<NodeId> readers = std::exchange(record(from).consumers, {});
  record(from).places.made.reset();
  for (const NodeId reader : readers) {
    const bool is_new = !reads(reader, to);
    std::vector<ValueId>& inputs = record(reader).node.inputs;
    if (auto& ports = record(reader).ports.made) {
      for (auto port = ports->lower_bound({from, 0});
           port != ports->end() && port->first == from;) {
        inputs[port->second] = to;
        ports->emplace(to, port->second);
        port = ports->erase(port);
      }
    } else {
      std::ranges::replace(inputs, from, to);
    }
    if (is_new) add_reader(to, reader);
  }
}

}  // namespace qtool
