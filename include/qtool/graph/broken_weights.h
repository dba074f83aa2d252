#pragma once

#include <cstdint>
#include <string>

namespace qtool {

class Graph;

/// Weights that are no numbers: what a network computes with them says nothing.
struct BrokenWeights {
  std::string first;         ///< name of the first tensor, in the order of the nodes; "": none
  std::int64_t broken = 0;   ///< numbers in it that are NaN or infinite
  std::int64_t numbers = 0;  ///< all numbers in it
  std::int64_t tensors = 0;  ///< how many tensors hold such numbers
};

/// Looks through all constants of type float32 and float64 of a graph and its subgraphs. NaN counts
/// anywhere; infinity only where it has no meaning: in what products and normalizations read, and
/// in scales. Elsewhere models mask and bound with it. Cost: one pass over the constants.
BrokenWeights find_broken_weights(const Graph& graph);

}  // namespace qtool
