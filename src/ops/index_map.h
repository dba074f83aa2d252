#pragma once

#include <cstdint>
#include <vector>

#include "ops/operator.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// A copy in which a table per axis maps positions of the output to positions of the input
/// (nearest-neighbour resizing, reflecting or repeating borders).
class IndexMap {
 public:
  /// `positions[axis][o]` is the position in the input for position `o` of the output, in ONNX's
  /// axis order.
  IndexMap(const Shape& input, Layout input_layout, const Shape& output, Layout output_layout,
           const std::vector<std::vector<std::int64_t>>& positions);

  void copy(std::int64_t element_bytes, std::byte* target, const std::byte* source,
            int threads) const;

 private:
  template <typename T>
  void copy_elements(T* target, const T* source, int threads) const;

  // Axes in the order of the output's memory; offsets are the positions times the input's strides.
  std::vector<std::vector<std::int64_t>> offsets_;
  std::int64_t inner_ = 1;            // extent of the innermost axis
  std::int64_t rows_ = 1;             // product of the other extents
  bool inner_is_contiguous_ = false;  // the innermost table is 0, 1, 2, ...
};

/// Claims the memory of the tables of one axis of the output: the positions and the offsets. The
/// capacity of each table may be twice its length.
inline void claim_index_tables(const OpContext& op, std::int64_t extent) {
  op.claim(extent, 4 * sizeof(std::int64_t));
}

}  // namespace qtool
