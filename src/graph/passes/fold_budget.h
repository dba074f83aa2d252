#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"

namespace qtool {

/// The number of bytes of new constants that folding may compute, for all graphs of a model
/// together. A limit for each single constant is not enough: a chain of Concats doubles its
/// constant with every node, so that together they fill the memory.
class FoldBudget {
 public:
  /// The budget is 128 MiB plus 16 times the bytes of the constants of `graph` and its subgraphs.
  explicit FoldBudget(const Graph& graph);

  /// Whether results of `bytes` bytes in total may be computed. If so, the bytes are subtracted
  /// from the budget. Results of up to 1024 bytes, such as shapes, are always allowed and are not
  /// subtracted, because the number of nodes limits their number.
  [[nodiscard]] bool take(std::int64_t bytes);

 private:
  std::int64_t left_;
};

}  // namespace qtool
