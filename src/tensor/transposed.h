#pragma once

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The transpose of an int8 matrix [rows, columns], an int8 matrix [columns, rows].
Tensor transposed(const Tensor& matrix);

}  // namespace qtool
