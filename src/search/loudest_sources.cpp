#include "search/loudest_sources.h"

#include <cstddef>

namespace qtool {
namespace {

constexpr std::size_t kMostLoudest = 16;
constexpr double kLeastLoudestShare = 0.01;

}  // namespace

std::vector<NodeSet> loudest_sources(const AnalyzeResult& analysis, const Exclusions& exclusions) {
  std::vector<NodeSet> sets;
  NodeSet nodes;
  std::size_t removed = 0;  // sources that can be removed, so far
  std::size_t wanted = 1;
  const auto take = [&] {
    if (!nodes.empty() && (sets.empty() || sets.back().size() < nodes.size())) {
      sets.push_back(nodes);
    }
  };
  for (const ErrorSource& source : analysis.sources) {
    if (source.share < kLeastLoudestShare || removed == kMostLoudest) break;
    const NodeSet own = exclusions.of(source);
    if (own.empty()) continue;
    nodes = joined(nodes, own);
    if (++removed < wanted) continue;
    take();
    wanted *= 2;
  }
  take();
  return sets;
}

}  // namespace qtool
