#pragma once

#include <cstdint>
#include <optional>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The type for a number of TensorProto.DataType, as in the attribute `to` of Cast; std::nullopt
/// for a type that qtool does not have.
std::optional<DType> dtype_of_onnx(std::int64_t data_type);

/// The number of a type in TensorProto.DataType.
std::int32_t onnx_of_dtype(DType dtype);

}  // namespace qtool
