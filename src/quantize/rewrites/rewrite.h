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

/// A network on its way to be quantized.
struct Rewritten {
  Graph graph;
  CalibrationTable table;   ///< its activations are those of `graph`
  ScaledChannels scaled{};  ///< tensors of the prepared network that `graph` holds divided
};

/// What the network is quantized for. Rewrites keep the placement as it is, but may add nodes to
/// its functions.
struct RewriteContext {
  const Target& target;
  const Placement& placement;
};

/// What a rewrite did.
struct RewriteOutcome {
  std::int64_t tensors = 0;  ///< activations whose values it changed; 0: nothing at all
  std::string reason;        ///< why nothing changed, as a phrase; empty otherwise
};

/// A rewrite: changes the graph and the ranges and statistics of its table together. What the
/// network computes stays as it is but for float rounding, and so do names, nodes, their order and
/// the numbers of values; new nodes are part of a function that runs as a table. It adds to
/// `scaled` the tensors that are other ones now. The scales of weights in the table are not its
/// concern. The result depends on nothing else.
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

/// Makes the rewrites called `names`, in their order, and writes into the table which of them
/// changed anything. Throws as find_rewrite(). Cost: theirs, and hashing the graph if it changed.
std::vector<RewriteReport> apply_rewrites(std::span<const std::string> names,
                                          const RewriteContext& context, Rewritten& network);

}  // namespace qtool
