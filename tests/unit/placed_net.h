#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "qtool/quantize/target.h"
#include "quantize/placement/placement.h"
#include "unit/quantize_net.h"

namespace qtool {

inline const Target& cpu() { return find_target("cpu"); }

/// The tensors that get a pair.
inline std::vector<std::string> pairs(const Net& net, const PlacementOptions& options = {},
                                      const Target& target = cpu()) {
  std::vector<std::string> names;
  for (const ValueId id : place(net.graph, target, options).quantized) {
    names.push_back(net.graph.value(id).name);
  }
  return names;
}

/// What becomes of a node for target cpu.
inline NodePlacement placed(const Net& net, std::string_view node,
                            const PlacementOptions& options = {}) {
  for (const NodePlacement& p : place(net.graph, cpu(), options).nodes) {
    if (net.graph.node(p.id).name == node) return p;
  }
  ADD_FAILURE() << "no node " << node;
  return {};
}

}  // namespace qtool
