#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Throws Error(kUnsupported) when the network cannot take such samples one at a time. Images need
/// a network with exactly one input, of float32, rank 4 and batch 1. Tensors need a network with
/// the number of inputs for which they were listed.
void require_inputs_for(const Samples& samples, const Graph& graph);

/// Maps the name of each input of the network to its shape. `shapes` has one shape per input, in
/// the order of the inputs.
InputShapes named_shapes(const Graph& graph, std::span<const Shape> shapes);

/// The shapes of the network's inputs for one sample. Throws Error(kMismatch) when the network
/// declares different shapes.
InputShapes shapes_for(const Samples& samples, const Graph& graph, std::span<const Tensor> sample);

/// The input shapes of the smallest and of the largest sample, by number of elements. Empty for
/// images, and when all samples have the same number of elements.
std::vector<InputShapes> extreme_shapes(const Samples& samples, const Graph& graph);

/// Whether a sample fits the inputs that the network declares. An open extent accepts any size.
bool accepts(const Graph& graph, std::span<const Tensor> sample);

/// The first sample that can be used; nothing if there is none. The samples before it are added to
/// `bad`. Throws as Samples::load().
std::optional<std::vector<Tensor>> first_usable(const Samples& samples,
                                                const Preprocess& preprocess, BadImages policy,
                                                std::vector<BadImage>& bad);

/// The tensors as views, which a plan takes as inputs.
std::vector<TensorView> views_of(std::span<const Tensor> sample);

}  // namespace qtool
