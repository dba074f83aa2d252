#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/analyze/analyze.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The blocks of a graph. A block is a node that multiplies, and the nodes after it until the next
/// node that multiplies: for example a convolution with its activation function. It has only the
/// nodes that run on integers in the base model. Blocks are in the order of their first nodes.
std::vector<NodeSet> blocks_of(const Graph& graph, const Exclusions& exclusions);

/// The blocks as in blocks_of(), but also the empty blocks without a node on integers, and the
/// links between blocks.
struct LinkedBlocks {
  std::vector<NodeSet> blocks;
  std::vector<std::vector<std::size_t>> after;  ///< per block: the blocks that read its results
};
LinkedBlocks linked_blocks(const Graph& graph, const Exclusions& exclusions);

/// Sets of nodes that may be worth running in FP32 together, without duplicates: the nodes that
/// must be in FP32 to remove a source, for every source; every block; runs of neighbouring blocks
/// of many lengths; the first and the last blocks; and each block with the blocks directly before
/// it, with the blocks directly after it, with all blocks that lead to it, and with all blocks that
/// it leads to. The names of layers do not matter. There are at most some thousands, spread evenly
/// over large networks.
std::vector<NodeSet> islands_of(const Graph& graph, const Exclusions& exclusions,
                                const AnalyzeResult& analysis);

/// Sets of nodes that may be faster in FP32, sorted by the sum of their gains, the largest first:
/// groups of neighbouring blocks whose gain is above 0, groups that also have the blocks between
/// two of them, and all groups together. `gain`: seconds per block, see measured_gains().
std::vector<NodeSet> faster_islands(const LinkedBlocks& linked, std::span<const double> gain);

}  // namespace qtool
