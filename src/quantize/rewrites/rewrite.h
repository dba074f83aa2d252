#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "quantize/placement/placement.h"
#include "quantize/rewrites/scaled_channels.h"

// Rewrites come before the stages of the layers: they change weights, biases and the ranges of the
// tensors in between, so that the network loses less when it is quantized.
namespace qtool {

/// A network that rewrites change before it is quantized.
struct Rewritten {
  Graph graph;
  CalibrationTable table;   ///< its activations belong to `graph`
  ScaledChannels scaled{};  ///< tensors of the prepared network that are divided in `graph`
};

/// The target for which the network is quantized, and the placement. Rewrites do not change the
/// placement, but may add nodes to its functions.
struct RewriteContext {
  const Target& target;
  const Placement& placement;
};

/// The result of a rewrite.
struct RewriteOutcome {
  std::int64_t tensors = 0;  ///< activations whose values it changed; 0: it changed nothing
  std::string reason;        ///< why nothing changed, as a phrase; empty otherwise
};

/// A rewrite changes the graph together with the ranges and statistics of its table. The outputs of
/// the network stay the same, except for float rounding. Names, nodes, their order and the numbers
/// of values stay too. New nodes are part of a function that runs as a table or inside a product.
/// The rewrite adds the tensors that it changed to Rewritten::scaled. It does not handle the weight
/// scales in the table. The result depends only on the arguments.
using Rewrite = RewriteOutcome (*)(Rewritten& network, const RewriteContext& context);

/// A row of the list of rewrites.
struct RewriteInfo {
  std::string_view name;
  Rewrite apply;
};

/// Every rewrite, sorted by name.
std::span<const RewriteInfo> rewrites();

/// The rewrite called `name`. Throws Error(kUsage) with the nearest names.
const RewriteInfo& find_rewrite(std::string_view name);

/// Makes the rewrites called `names`, in their order. Writes into the table the names of those that
/// changed anything. Throws as find_rewrite(). Cost: that of the rewrites, and hashing the graph if
/// it changed.
std::vector<RewriteReport> apply_rewrites(std::span<const std::string> names,
                                          const RewriteContext& context, Rewritten& network);

}  // namespace qtool
