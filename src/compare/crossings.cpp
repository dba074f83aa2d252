#include "compare/crossings.h"

#include <algorithm>
#include <set>
#include <string>

#include "graph/node_name.h"

namespace qtool {
namespace {

bool converts(std::string_view op_type) {
  return op_type == "QuantizeLinear" || op_type == "DequantizeLinear" ||
         op_type == "DynamicQuantizeLinear";
}

/// The name of the node that computes a tensor, or of the network input. Conversions are skipped.
std::string source_of(const Graph& graph, ValueId value) {
  std::set<ValueId> seen;
  while (seen.insert(value).second) {
    const NodeId producer = graph.value(value).producer;
    if (producer == kNoNode) return graph.value(value).name;
    const Node& node = graph.node(producer);
    if (!converts(node.op_type) || node.inputs.empty() || node.inputs[0] == kNoValue) {
      return std::string(name_of(graph, producer));
    }
    value = node.inputs[0];
  }
  return graph.value(value).name;
}

/// Adds the names of the nodes and network outputs that read a tensor. Conversions are skipped.
void add_readers(const Graph& graph, ValueId value, std::set<ValueId>& seen,
                 std::vector<std::string>& names) {
  if (!seen.insert(value).second) return;
  if (graph.is_output(value)) names.push_back(graph.value(value).name);
  for (const NodeId reader : graph.consumers(value)) {
    const Node& node = graph.node(reader);
    if (!converts(node.op_type)) {
      names.emplace_back(name_of(graph, reader));
      continue;
    }
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) add_readers(graph, output, seen, names);
    }
  }
}

}  // namespace

std::vector<Crossing> crossings_of(const std::vector<StepInfo>& steps, const Graph& graph) {
  std::vector<Crossing> crossings;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!converts(steps[i].op_type)) continue;
    Crossing crossing{i, {}, {}};
    if (const auto value = graph.find_value(steps[i].output)) {
      crossing.from = source_of(graph, *value);
      std::set<ValueId> seen;
      add_readers(graph, *value, seen, crossing.to);
      std::ranges::sort(crossing.to);
      const auto rest = std::unique(crossing.to.begin(), crossing.to.end());
      crossing.to.erase(rest, crossing.to.end());
    }
    crossings.push_back(std::move(crossing));
  }
  return crossings;
}

}  // namespace qtool
