#include "search/islands.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "graph/id_map.h"
#include "quantize/placement/operands.h"

namespace qtool {
namespace {

/// For large networks: the most runs of one length, and the most blocks that are taken with their
/// neighbours.
constexpr std::size_t kStarts = 200;
constexpr std::size_t kEnds = 100;  // most sets of first blocks, and of last blocks
constexpr std::size_t kMaxIslandSources = 200;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Blocks, with the blocks directly before and after each one.
struct BlockGraph {
  std::vector<NodeSet> blocks;
  std::vector<std::set<std::size_t>> before;
  std::vector<std::set<std::size_t>> after;
};

BlockGraph block_graph(const Graph& graph, const Exclusions& exclusions) {
  IdMap<NodeId, std::size_t> block_of(node_limit(graph), kNone);
  BlockGraph made;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    std::set<std::size_t> read;
    for (const ValueId input : node.inputs) {
      const NodeId producer = input == kNoValue ? kNoNode : graph.value(input).producer;
      if (producer != kNoNode && block_of[producer] != kNone) {
        read.insert(block_of[producer]);
      }
    }
    const bool own = multiplies(node) || read.empty();
    const std::size_t block = own ? made.blocks.size() : *read.rbegin();
    if (own) {
      made.blocks.emplace_back();
      made.before.emplace_back();
      made.after.emplace_back();
    }
    block_of[id] = block;
    for (const std::size_t other : read) {
      if (other == block) continue;
      made.before[block].insert(other);
      made.after[other].insert(block);
    }
    const NodeRole role = exclusions.role(id);
    if (role == NodeRole::kInteger || role == NodeRole::kPassing || role == NodeRole::kFused) {
      made.blocks[block].push_back(id);
    }
  }
  for (NodeSet& block : made.blocks) std::sort(block.begin(), block.end());
  return made;
}

/// All blocks that are reached from a block along `edges`, including the block itself.
std::vector<char> reached(std::size_t from, const std::vector<std::set<std::size_t>>& edges) {
  std::vector<char> seen(edges.size(), 0);
  std::vector<std::size_t> open{from};
  seen[from] = 1;
  while (!open.empty()) {
    const std::size_t block = open.back();
    open.pop_back();
    for (const std::size_t next : edges[block]) {
      if (std::exchange(seen[next], 1) == 0) open.push_back(next);
    }
  }
  return seen;
}

class Collector {
 public:
  explicit Collector(const BlockGraph& graph) : graph_(graph) {}

  void add(NodeSet nodes) {
    if (!nodes.empty() && seen_.insert(nodes).second) islands_.push_back(std::move(nodes));
  }

  template <typename Holds>
  void add_blocks(const Holds& holds) {
    NodeSet nodes;
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      if (holds(b)) nodes.insert(nodes.end(), graph_.blocks[b].begin(), graph_.blocks[b].end());
    }
    std::sort(nodes.begin(), nodes.end());
    add(std::move(nodes));
  }

  [[nodiscard]] std::vector<NodeSet> take() { return std::move(islands_); }

 private:
  const BlockGraph& graph_;
  std::set<NodeSet> seen_;
  std::vector<NodeSet> islands_;
};

std::size_t stride_of(std::size_t count, std::size_t most) {
  return std::max<std::size_t>(1, (count + most - 1) / most);
}

// The blocks for which `takes` is true, in connected groups. Blocks without a node on integers
// connect other blocks, and cost nothing.
std::vector<std::vector<std::size_t>> groups_of(const LinkedBlocks& linked,
                                                const std::vector<bool>& takes) {
  const std::size_t count = linked.blocks.size();
  std::vector<std::vector<std::size_t>> beside(count);
  for (std::size_t b = 0; b < count; ++b) {
    for (const std::size_t next : linked.after[b]) {
      beside[b].push_back(next);
      beside[next].push_back(b);
    }
  }
  std::vector<bool> seen(count, false);
  std::vector<std::vector<std::size_t>> found;
  for (std::size_t start = 0; start < count; ++start) {
    if (seen[start] || !takes[start] || linked.blocks[start].empty()) continue;
    std::vector<std::size_t> group;
    std::vector<std::size_t> open{start};
    seen[start] = true;
    while (!open.empty()) {
      const std::size_t block = open.back();
      open.pop_back();
      group.push_back(block);
      for (const std::size_t next : beside[block]) {
        if (seen[next] || !takes[next]) continue;
        seen[next] = true;
        open.push_back(next);
      }
    }
    found.push_back(std::move(group));
  }
  return found;
}

}  // namespace

std::vector<NodeSet> blocks_of(const Graph& graph, const Exclusions& exclusions) {
  std::vector<NodeSet> blocks = block_graph(graph, exclusions).blocks;
  std::erase_if(blocks, [](const NodeSet& block) { return block.empty(); });
  return blocks;
}

LinkedBlocks linked_blocks(const Graph& graph, const Exclusions& exclusions) {
  BlockGraph made = block_graph(graph, exclusions);
  LinkedBlocks linked{std::move(made.blocks), {}};
  for (const std::set<std::size_t>& after : made.after) {
    linked.after.emplace_back(after.begin(), after.end());
  }
  return linked;
}

std::vector<NodeSet> islands_of(const Graph& graph, const Exclusions& exclusions,
                                const AnalyzeResult& analysis) {
  const BlockGraph made = block_graph(graph, exclusions);
  const std::size_t count = made.blocks.size();
  Collector islands(made);
  for (std::size_t i = 0; i < std::min(kMaxIslandSources, analysis.sources.size()); ++i) {
    if (analysis.sources[i].noise > 0.0) islands.add(exclusions.of(analysis.sources[i]));
  }
  for (const NodeSet& block : made.blocks) islands.add(block);
  for (std::size_t length = 2; length < count; length += std::max<std::size_t>(1, length / 2)) {
    const std::size_t starts = count - length + 1;
    const std::size_t stride = std::max(stride_of(starts, kStarts), length / 4);
    for (std::size_t begin = 0; begin < starts; begin += stride) {
      islands.add_blocks([&](std::size_t b) { return b >= begin && b < begin + length; });
    }
  }
  for (std::size_t length = 2; length < count; length += stride_of(count, kEnds)) {
    islands.add_blocks([&](std::size_t b) { return b < length; });
    islands.add_blocks([&](std::size_t b) { return b >= count - length; });
  }
  for (std::size_t block = 0; block < count; block += stride_of(count, kStarts)) {
    const auto around = [&](const std::set<std::size_t>& others) {
      islands.add_blocks([&](std::size_t b) { return b == block || others.contains(b); });
    };
    around(made.before[block]);
    around(made.after[block]);
    for (const auto* edges : {&made.before, &made.after}) {
      const std::vector<char> all = reached(block, *edges);
      islands.add_blocks([&](std::size_t b) { return all[b] != 0; });
    }
  }
  return islands.take();
}

std::vector<NodeSet> faster_islands(const LinkedBlocks& linked, std::span<const double> gain) {
  const std::size_t count = linked.blocks.size();
  std::vector<bool> faster(count);
  for (std::size_t b = 0; b < count; ++b) faster[b] = gain[b] > 0.0 || linked.blocks[b].empty();
  std::vector<bool> bridged = faster;
  for (std::size_t b = 0; b < count; ++b) {
    std::size_t neighbours = 0;
    for (const std::size_t next : linked.after[b]) neighbours += faster[next] ? 1U : 0U;
    for (std::size_t other = 0; other < count; ++other) {
      const auto& after = linked.after[other];
      if (faster[other] && std::ranges::find(after, b) != after.end()) ++neighbours;
    }
    if (neighbours >= 2) bridged[b] = true;
  }
  std::vector<std::pair<double, NodeSet>> ranked;
  std::set<NodeSet> seen;
  for (const std::vector<bool>& takes : {faster, bridged}) {
    NodeSet all;
    double all_gain = 0.0;
    for (const std::vector<std::size_t>& group : groups_of(linked, takes)) {
      NodeSet nodes;
      double sum = 0.0;
      for (const std::size_t block : group) {
        nodes.insert(nodes.end(), linked.blocks[block].begin(), linked.blocks[block].end());
        if (!linked.blocks[block].empty()) sum += gain[block];
      }
      std::sort(nodes.begin(), nodes.end());
      if (nodes.empty() || sum <= 0.0) continue;
      all = joined(all, nodes);
      all_gain += sum;
      if (seen.insert(nodes).second) ranked.emplace_back(sum, std::move(nodes));
    }
    if (!all.empty() && seen.insert(all).second) ranked.emplace_back(all_gain, std::move(all));
  }
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<NodeSet> islands;
  for (auto& [sum, nodes] : ranked) islands.push_back(std::move(nodes));
  return islands;
}

}  // namespace qtool
