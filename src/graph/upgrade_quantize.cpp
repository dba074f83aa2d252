// QuantizeLinear and DequantizeLinear of the opsets after the canonical one.
#include <algorithm>
#include <array>

#include "graph/onnx_dtype.h"
#include "graph/upgrade.h"

namespace qtool {
namespace {

void drop_defaults(Upgrade& up) {
  up.drop("saturate");   // eight-bit floats only
  up.drop("precision");  // of the division; always float32 here
  if (up.take_int("block_size").value_or(0) != 0) {
    up.fail("quantization in blocks is not supported");
  }
}

}  // namespace

// The zero point determines the type; a node without one gets it.
void upgrade_quantize_linear(Upgrade& up) {
  if (up.from() <= kCanonicalOpset) return;
  drop_defaults(up);
  const std::int64_t type = up.take_int("output_dtype").value_or(0);
  if (type == 0 || up.input(2) != kNoValue) return;
  constexpr std::array kIntegers = {DType::kUInt8, DType::kInt8, DType::kUInt16, DType::kInt16};
  const std::optional<DType> dtype = dtype_of_onnx(type);
  if (!dtype || std::find(kIntegers.begin(), kIntegers.end(), *dtype) == kIntegers.end()) {
    up.fail("attribute 'output_dtype' names a type that is not supported");
  }
  if (dtype == DType::kUInt8) return;
  const Tensor* scale = up.constant(1);
  if (scale == nullptr) up.fail("the scale depends on the data; only constants are supported");
  up.set_input(2, up.add_constant("zero_point", Tensor(*dtype, scale->shape())));
}

void upgrade_dequantize_linear(Upgrade& up) {
  if (up.from() <= kCanonicalOpset) return;
  drop_defaults(up);
  const std::int64_t type = up.take_int("output_dtype").value_or(0);
  if (type != 0 && dtype_of_onnx(type) != DType::kFloat32)
    up.fail("a result other than float32 is not supported");
}

}  // namespace qtool
