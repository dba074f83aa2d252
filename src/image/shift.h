#pragma once

#include <cstdint>

#include "qtool/image/preprocess.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// An image as a network takes it, moved by `right` and `down` pixels; the pixels of the edges fill
/// the gap. `image`: float32 of rank 4, in `layout`. Cost: a copy.
Tensor shifted(const TensorView& image, TensorLayout layout, std::int64_t right, std::int64_t down);

}  // namespace qtool
