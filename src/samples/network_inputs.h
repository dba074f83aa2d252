#pragma once

#include <span>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Throws Error(kUnsupported) when the network cannot take such samples one at a time: images are
/// for exactly one float32 input of rank 4 and batch 1, tensors for as many inputs as they are
/// listed for.
void require_inputs_for(const Samples& samples, const Graph& graph);

/// `shapes` by the names of the network's inputs, in the order of these. As many as inputs.
InputShapes named_shapes(const Graph& graph, std::span<const Shape> shapes);

/// The shapes of the network's inputs for one sample. Throws Error(kMismatch) when the network
/// declares others.
InputShapes shapes_for(const Samples& samples, const Graph& graph, std::span<const Tensor> sample);

/// The input shapes of the smallest and of the largest sample, where samples are tensors that
/// differ in shape; nothing where they do not, and for images.
std::vector<InputShapes> extreme_shapes(const Samples& samples, const Graph& graph);

/// Whether the inputs that the network declares take a sample: extents that it leaves open may be
/// any.
bool accepts(const Graph& graph, std::span<const Tensor> sample);

/// The tensors as a plan takes them.
std::vector<TensorView> views_of(std::span<const Tensor> sample);

}  // namespace qtool
