// QuantizeLinear and DequantizeLinear of the opsets after the canonical one.
#include <utility>

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

// By number of TensorProto::DataType.
std::optional<DType> integer_type(std::int64_t number) {
  switch (number) {
    case 2:
      return DType::kUInt8;
    case 3:
      return DType::kInt8;
    case 4:
      return DType::kUInt16;
    case 5:
      return DType::kInt16;
    default:
      return std::nullopt;
  }
}

}  // namespace

// The zero point tells the type; a node without one gets it.
void upgrade_quantize_linear(Upgrade& up) {
  if (up.from() <= kCanonicalOpset) return;
  drop_defaults(up);
  const std::int64_t type = up.take_int("output_dtype").value_or(0);
  if (type == 0 || up.input(2) != kNoValue) return;
  const std::optional<DType> dtype = integer_type(type);
  if (!dtype) up.fail("attribute 'output_dtype' names a type that is not supported");
  if (dtype == DType::kUInt8) return;
  const Tensor* scale = up.constant(1);
  if (scale == nullptr) up.fail("the scale depends on the data; only constants are supported");
  up.set_input(2, up.add_constant("zero_point", Tensor(*dtype, scale->shape())));
}

void upgrade_dequantize_linear(Upgrade& up) {
  if (up.from() <= kCanonicalOpset) return;
  drop_defaults(up);
  constexpr std::int64_t kOnnxFloat = 1;
  const std::int64_t type = up.take_int("output_dtype").value_or(0);
  if (type != 0 && type != kOnnxFloat) up.fail("a result other than float32 is not supported");
}

}  // namespace qtool
