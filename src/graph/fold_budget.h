#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"

namespace qtool {

/// How many bytes of new constants folding may compute, for all graphs of a model together. Each
/// constant by itself may be small against those it is computed from, and all of them still fill
/// the memory: a chain of Concats doubles its constant with every node.
class FoldBudget {
 public:
  /// 16 times the constants of `graph` and of its subgraphs, and 128 MiB.
  explicit FoldBudget(const Graph& graph);

  /// Whether results of `bytes` together may be computed; they count as computed then. Small ones,
  /// such as shapes, always may: there are no more of them than nodes.
  [[nodiscard]] bool take(std::int64_t bytes);

 private:
  std::int64_t left_;
};

}  // namespace qtool
