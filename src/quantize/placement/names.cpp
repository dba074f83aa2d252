#include "base/name_pattern.h"
#include "quantize/placement/placement.h"

namespace qtool {

std::vector<NodeId> match_nodes(const Graph& graph, std::span<const std::string> patterns) {
  std::vector<std::string> names;
  for (const NodeId id : graph.nodes()) names.emplace_back(name_of(graph, id));
  std::vector<NodeId> matched;
  for (const std::size_t i : match_names(names, patterns, "node")) {
    matched.push_back(graph.nodes()[i]);
  }
  return matched;
}

std::vector<NodeReport> report_nodes(const Graph& graph, const Placement& placement) {
  std::vector<NodeReport> reports;
  for (const NodePlacement& placed : placement.nodes) {
    reports.push_back({std::string(name_of(graph, placed.id)), graph.node(placed.id).op_type,
                       placed.role, placed.reason});
  }
  return reports;
}

std::vector<std::string> tensors_to_calibrate(const Graph& graph, const Target& target,
                                              std::span<const std::string> exclude) {
  PlacementOptions options;
  options.exclude.assign(exclude.begin(), exclude.end());
  std::vector<std::string> names;
  for (const ValueId id : place(graph, target, options).quantized) {
    names.push_back(graph.value(id).name);
  }
  return names;
}

}  // namespace qtool
