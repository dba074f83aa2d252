#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The only input of a model that takes one image at a time.
struct ImageInput {
  std::string name;
  std::vector<std::optional<std::int64_t>> extents;  ///< as declared; the batch is 1
};

/// Throws Error(kUnsupported) when the model has not exactly one float32 image input, or one of
/// another batch than 1.
ImageInput image_input_of(const Graph& graph);

/// Throws Error(kMismatch) when the input takes images of other extents.
void require_match(const ImageInput& input, const Shape& shape);

}  // namespace qtool
