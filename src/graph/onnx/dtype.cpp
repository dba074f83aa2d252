#include "graph/onnx/dtype.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "graph/onnx/proto.h"

namespace qtool {
namespace {

using onnx::TensorProto;

struct TypeRow {
  std::int32_t onnx;
  DType dtype;
};

constexpr TypeRow kTypes[] = {
    {TensorProto::FLOAT, DType::kFloat32},     {TensorProto::FLOAT16, DType::kFloat16},
    {TensorProto::BFLOAT16, DType::kBFloat16}, {TensorProto::DOUBLE, DType::kFloat64},
    {TensorProto::INT8, DType::kInt8},         {TensorProto::UINT8, DType::kUInt8},
    {TensorProto::INT16, DType::kInt16},       {TensorProto::UINT16, DType::kUInt16},
    {TensorProto::INT32, DType::kInt32},       {TensorProto::UINT32, DType::kUInt32},
    {TensorProto::INT64, DType::kInt64},       {TensorProto::UINT64, DType::kUInt64},
    {TensorProto::BOOL, DType::kBool},
};

}  // namespace

std::optional<DType> dtype_of_onnx(std::int64_t data_type) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == data_type) return row.dtype;
  }
  return std::nullopt;
}

std::int32_t onnx_of_dtype(DType dtype) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& r) { return r.dtype == dtype; });
  QTOOL_CHECK(row != std::end(kTypes));
  return row->onnx;
}

}  // namespace qtool
