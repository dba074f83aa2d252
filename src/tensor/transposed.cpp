#include "tensor/transposed.h"

#include <cstddef>
#include <cstdint>

namespace qtool {

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0];
  const std::int64_t columns = matrix.shape()[1];
  Tensor result(DType::kInt8, Shape{columns, rows});
  const auto from = matrix.values<std::int8_t>();
  const auto to = result.values<std::int8_t>();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < columns; ++k) {
      to[static_cast<std::size_t>(k * rows + r)] = from[static_cast<std::size_t>(r * columns + k)];
    }
  }
  return result;
}

}  // namespace qtool
