#pragma once

#include <cstdint>

#include "base/stop.h"
#include "ops/strides.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// A dense tensor as columns along one axis: `outer` * `inner` columns of `extent` elements that
/// are `inner` apart. All zero when the tensor is empty.
struct Columns {
  std::int64_t outer = 0;
  std::int64_t extent = 0;
  std::int64_t inner = 0;

  [[nodiscard]] std::int64_t count() const { return outer * inner; }
  /// The offset of the first element of a column.
  [[nodiscard]] std::int64_t offset(std::int64_t column) const {
    return column / inner * extent * inner + column % inner;
  }
};

inline Columns columns_of(const Shape& shape, std::int64_t axis) {
  const std::int64_t elements = shape.elements();
  if (elements == 0) return {};
  const std::int64_t inner = stride_of(shape, Layout::kPlain, axis);
  return {elements / (shape[axis] * inner), shape[axis], inner};
}

/// Calls `body(offset of the column)` for all columns, in parallel when the tensor is large.
template <typename Body>
void for_columns(const Columns& columns, int threads, const Body& body) {
  if (columns.count() * columns.extent < kParallelElements) threads = 1;
  parallel_ranges(columns.count(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    StopPace pace;
    for (std::int64_t column = begin; column < end; ++column) {
      pace.step(columns.extent);
      body(columns.offset(column));
    }
  });
}

}  // namespace qtool
