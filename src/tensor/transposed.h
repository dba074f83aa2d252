#pragma once

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The int8 matrix [columns, rows] of the int8 matrix [rows, columns].
Tensor transposed(const Tensor& matrix);

}  // namespace qtool
