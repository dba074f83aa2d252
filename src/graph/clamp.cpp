#include "graph/clamp.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "graph/constant_float.h"

namespace qtool {

std::optional<Range> clamp_of(const Graph& graph, const Node& node) {
  return clamp_of(node, [&](ValueId bound) { return constant_float(graph, bound); });
}

std::optional<Range> applied_clamp_of(const Graph& graph, const Node& node) {
  std::optional<Range> bounds = clamp_of(graph, node);
  if (!bounds || !node.is("Clip")) return bounds;
  constexpr float kMost = std::numeric_limits<float>::max();
  if (!node.has_input(1)) bounds->min = -kMost;
  if (!node.has_input(2)) bounds->max = kMost;
  return bounds;
}

std::optional<Range> clamp_of(const Node& node,
                              const std::function<std::optional<float>(ValueId)>& constant) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.is("Relu")) return Range{0.0F, kInfinity};
  if (!node.is("Clip")) return std::nullopt;
  Range bounds{-kInfinity, kInfinity};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!node.has_input(i)) continue;
    const std::optional<float> bound = constant(node.inputs[i]);
    if (!bound || std::isnan(*bound)) return std::nullopt;
    (i == 1 ? bounds.min : bounds.max) = *bound;
  }
  return bounds;
}

}  // namespace qtool
