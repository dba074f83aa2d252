#pragma once

#include <cstdint>
#include <string>

namespace qtool {

class Graph;

/// Reports weights that are NaN or infinite. Results that a network computes with such weights are
/// meaningless.
struct BrokenWeights {
  std::string first;         ///< name of the first broken tensor in node order, or empty
  std::int64_t broken = 0;   ///< numbers in the tensor `first` that are NaN or infinite
  std::int64_t numbers = 0;  ///< all numbers in the tensor `first`
  std::int64_t tensors = 0;  ///< how many tensors are broken
};

/// Looks through all float32 and float64 constants of a graph and its subgraphs. NaN always counts
/// as broken. Infinity counts only where it has no meaning: in constants that products,
/// normalizations, QuantizeLinear and DequantizeLinear read. Other operators may use infinity as a
/// mask or a bound. Cost: one pass over the constants.
BrokenWeights find_broken_weights(const Graph& graph);

}  // namespace qtool
