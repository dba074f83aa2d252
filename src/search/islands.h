#pragma once

#include <cstddef>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/analyze/analyze.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A product and what follows it until the next ones: a convolution with its activation, say. Nodes
/// that run on integers in the recipe's model, in the order of their products.
std::vector<NodeSet> blocks_of(const Graph& graph, const Exclusions& exclusions);

/// The same blocks with those that have no node on integers, and which follow from which.
struct LinkedBlocks {
  std::vector<NodeSet> blocks;
  std::vector<std::vector<std::size_t>> after;  ///< blocks that read what each one writes
};
LinkedBlocks linked_blocks(const Graph& graph, const Exclusions& exclusions);

/// Sets of nodes that may be worth FP32 together, each once: what every source needs, every block,
/// runs of neighbouring blocks of many lengths, the first and the last ones, and each block with
/// those before it, those after it, all that it follows from and all that follows from it. No name
/// of a layer matters. At most some thousands, spread evenly over large networks.
std::vector<NodeSet> islands_of(const Graph& graph, const Exclusions& exclusions,
                                const AnalyzeResult& analysis);

}  // namespace qtool
