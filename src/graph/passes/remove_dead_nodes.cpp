#include <algorithm>

#include "qtool/graph/graph.h"

namespace qtool {

std::int64_t Graph::remove_dead_nodes() {
  const auto is_read = [&](ValueId output) {
    return output != kNoValue &&
           (record(output).output_port >= 0 || !record(output).consumers.empty());
  };
  // Goes backwards, so that a consumer is removed before its producer.
  std::int64_t removed = 0;
  for (NodeId id = last_; id != kNoNode;) {
    const NodeId previous = record(id).previous;
    if (std::ranges::none_of(record(id).node.outputs, is_read)) {
      remove_node(id);
      ++removed;
    }
    id = previous;
  }
  return removed;
}

}  // namespace qtool
