#pragma once

#include <functional>
#include <optional>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The bounds between which a Relu or Clip keeps its result, infinite where there is none;
/// std::nullopt for any other node, and for bounds that are no constants or NaN. The lower bound of
/// a Clip may exceed the upper one.
std::optional<Range> clamp_of(const Graph& graph, const Node& node);

/// The bounds as the operator applies them to float32: a bound that a Clip lacks is the largest
/// float, or its negative.
std::optional<Range> applied_clamp_of(const Graph& graph, const Node& node);

/// Like clamp_of() above, where `constant` reads the bounds: it returns the number of a value, or
/// nothing if the value is no constant.
std::optional<Range> clamp_of(const Node& node,
                              const std::function<std::optional<float>(ValueId)>& constant);

}  // namespace qtool
