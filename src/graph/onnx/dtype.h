#pragma once

#include <cstdint>
#include <optional>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The type behind a number of TensorProto.DataType, as attributes such as Cast's `to` hold it, or
/// nothing when qtool does not store it.
std::optional<DType> dtype_of_onnx(std::int64_t data_type);

/// The number of a type in TensorProto.DataType.
std::int32_t onnx_of_dtype(DType dtype);

}  // namespace qtool
