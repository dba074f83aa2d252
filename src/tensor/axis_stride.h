#pragma once

#include <cstddef>
#include <cstdint>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The number of elements in memory from an index of `axis` to the next one. `shape` is in ONNX's
/// order; with Layout::kChannelsLast axis 1 is the innermost in memory.
std::size_t axis_stride(const Shape& shape, Layout layout, std::int64_t axis);

}  // namespace qtool
