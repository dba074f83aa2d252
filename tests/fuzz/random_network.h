// Valid networks of random layers. A seed gives the same network on every machine.
#pragma once

#include <cstdint>

#include "qtool/graph/graph.h"
#include "random.h"

namespace qtool::fuzz {

/// The number of channels and classes: up to 20, or some hundreds, which is enough work for threads
/// to divide.
enum class Width : std::uint8_t { kNarrow, kWide };

/// A convolutional network of a few layers with FP32 weights at opset 17: one input `x` of shape
/// [N, C, H, W] with an open batch, one or two outputs. Its layers are convolutions of all kinds,
/// pooling, activations, sums, products, concatenations, moves of data, resizing and matrix
/// products.
Graph random_network(std::uint64_t seed, Width width = Width::kNarrow);

/// Values of `shape` in [-2, 2).
Tensor random_reals(Random& random, const Shape& shape);

}  // namespace qtool::fuzz
