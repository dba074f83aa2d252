#include "base/text.h"
#include "qtool/base/error.h"
#include "quantize/placement.h"

namespace qtool {

std::vector<NodeId> match_nodes(const Graph& graph, std::span<const std::string> patterns) {
  std::vector<char> hit(patterns.size(), 0);
  std::vector<NodeId> matched;
  for (const NodeId id : graph.nodes()) {
    const std::string_view name = name_of(graph, id);
    bool any = false;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      if (name != patterns[p] && !matches_pattern(name, patterns[p])) continue;
      hit[p] = 1;
      any = true;
    }
    if (any) matched.push_back(id);
  }
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (hit[p] != 0) continue;
    std::vector<std::string> names;
    for (const NodeId id : graph.nodes()) names.emplace_back(name_of(graph, id));
    throw Error(ErrorCode::kUsage,
                concat("'", patterns[p], "' matches no node", nearest_text(patterns[p], names)));
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
