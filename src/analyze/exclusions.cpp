#include "analyze/exclusions.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "graph/node_name.h"
#include "qtool/quantize/quantize.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

PlacementOptions options_of(const StaticInputs& base, const TableView& view) {
  PlacementOptions options;
  options.exclude = base.options.exclude;
  options.has_range = [&view](std::string_view tensor) { return view.has_range(tensor); };
  return options;
}

void sort_unique(NodeSet& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

NodeSet joined(const NodeSet& a, const NodeSet& b) {
  NodeSet both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

NodeSet without(const NodeSet& a, const NodeSet& b) {
  NodeSet rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

Exclusions::Exclusions(const Graph& graph, const StaticInputs& base)
    : graph_(graph),
      target_(chosen_target(base.table, base.options)),
      view_(graph, base.table, target_),
      placements_(graph, target_, options_of(base, view_)),
      base_(placements_.without({})) {
  for (const NodePlacement& placed : base_.nodes) {
    roles_[placed.id] = placed.role;
    nodes_.emplace(name_of(graph, placed.id), placed.id);
  }
}

std::int64_t Exclusions::sources() const {
  std::int64_t sources = std::ssize(base_.quantized);
  for (const NodePlacement& placed : base_.nodes) {
    if (placed.role == NodeRole::kInteger && weight_ports(graph_, placed.id)) ++sources;
  }
  return sources;
}

NodeRole Exclusions::role(NodeId id) const {
  const auto found = roles_.find(id);
  return found == roles_.end() ? NodeRole::kFloat : found->second;
}

NodeSet Exclusions::of(const ErrorSource& source) const {
  if (source.kind != SourceKind::kActivation) {
    const auto node = nodes_.find(source.node);
    if (node == nodes_.end() || role(node->second) != NodeRole::kInteger) return {};
    return {node->second};
  }
  const std::optional<ValueId> tensor = graph_.find_value(source.name);
  if (!tensor) return {};
  NodeSet nodes;
  std::unordered_set<ValueId> seen;
  add_readers(*tensor, nodes, seen);
  if (nodes.empty()) return {};
  sort_unique(nodes);
  // Some kernels write integers only. Then the tensor is still rounded, and the producer must stay
  // in FP32 too.
  const std::vector<ValueId> quantized = placement(nodes).quantized;
  if (std::find(quantized.begin(), quantized.end(), *tensor) != quantized.end()) {
    add_producer(*tensor, nodes);
    sort_unique(nodes);
  }
  return nodes;
}

NodeSet Exclusions::nodes_of(const std::vector<std::string>& names) const {
  NodeSet nodes;
  for (const std::string& name : names) nodes.push_back(nodes_.at(name));
  sort_unique(nodes);
  return nodes;
}

std::vector<std::string> Exclusions::names_of(const NodeSet& nodes) const {
  std::vector<std::string> names;
  for (const NodeId id : graph_.nodes()) {
    if (std::binary_search(nodes.begin(), nodes.end(), id)) names.emplace_back(name_of(graph_, id));
  }
  return names;
}

/// Adds the integer nodes that read a tensor, directly or after nodes that only move its elements.
void Exclusions::add_readers(ValueId tensor, NodeSet& nodes,
                             std::unordered_set<ValueId>& seen) const {
  if (!seen.insert(tensor).second) return;
  for (const NodeId reader : graph_.consumers(tensor)) {
    if (role(reader) == NodeRole::kInteger) nodes.push_back(reader);
    if (role(reader) != NodeRole::kPassing) continue;
    for (const ValueId output : graph_.node(reader).outputs) {
      if (output != kNoValue) add_readers(output, nodes, seen);
    }
  }
}

void Exclusions::add_producer(ValueId tensor, NodeSet& nodes) const {
  NodeId producer = graph_.value(tensor).producer;
  // Go back to the node that the activation function is fused into.
  while (producer != kNoNode && role(producer) == NodeRole::kFused) {
    const std::vector<ValueId>& inputs = graph_.node(producer).inputs;
    producer = inputs.empty() || inputs[0] == kNoValue ? kNoNode : graph_.value(inputs[0]).producer;
  }
  if (producer != kNoNode && role(producer) == NodeRole::kInteger) nodes.push_back(producer);
}

}  // namespace qtool
