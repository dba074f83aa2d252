// QuantizeLinear and DequantizeLinear of the opsets after the canonical one.
#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "graph/onnx/dtype.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

void drop_defaults(Upgrade& up) {
  up.drop("saturate");   // matters for eight-bit floats only
  up.drop("precision");  // precision of the division; always float32 here
}

bool is_integer(DType dtype) {
  constexpr std::array kQuantizedTypes = {DType::kUInt8, DType::kInt8, DType::kUInt16,
                                          DType::kInt16, DType::kInt32};
  return std::find(kQuantizedTypes.begin(), kQuantizedTypes.end(), dtype) != kQuantizedTypes.end();
}

// A constant that is dequantized in blocks along an axis becomes float32, because qtool has no
// kernel that multiplies blocks of integers. Source: ONNX DequantizeLinear of opset 21.
void dequantize_blocks(Upgrade& up, std::int64_t size) {
  const Tensor* integers = up.constant(0);
  const Tensor* scales = up.constant(1);
  const Tensor* zeros = up.constant(2);
  if (integers == nullptr || scales == nullptr || (up.input(2) != kNoValue && zeros == nullptr)) {
    up.fail("only constants may be dequantized in blocks");
  }
  // If many nodes read the same blocks, each of them would get unpacked weights, and a small file
  // would become large.
  if (up.readers(0) > 1) up.fail("its blocks are read more than once");
  const Shape& shape = integers->shape();
  const std::int64_t axis =
      normalize_axis(up.take_int("axis").value_or(1), shape.rank(), up.node().name);
  std::vector<std::int64_t> expected = shape.dims();
  std::int64_t& along = expected[static_cast<std::size_t>(axis)];
  if (size < 1) up.fail("attribute 'block_size' is negative");
  along = along / size + (along % size != 0 ? 1 : 0);
  if (scales->dtype() != DType::kFloat32 || scales->shape() != Shape(expected) ||
      (zeros != nullptr && (zeros->shape() != scales->shape() || !is_integer(zeros->dtype())))) {
    up.fail(to_text("its scales have shape ", scales->shape().to_string(), ", expected float32 of ",
                    Shape(expected).to_string(), " and zero points like them"));
  }
  if (!is_integer(integers->dtype())) up.fail("it dequantizes no integers");
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const std::vector<std::int64_t> from = to_int64s(*integers);
  const std::vector<std::int64_t> points =
      zeros == nullptr ? std::vector<std::int64_t>() : to_int64s(*zeros);
  Tensor reals(DType::kFloat32, shape);
  const auto out = reals.values<float>();
  const auto scale = scales->values<float>();
  for (std::int64_t i = 0; i < reals.elements(); ++i) {
    const std::int64_t outer = i / (shape[axis] * inner);
    const std::int64_t position = i / inner % shape[axis];
    const auto block = static_cast<std::size_t>(
        (outer * expected[static_cast<std::size_t>(axis)] + position / size) * inner + i % inner);
    const auto element = static_cast<std::size_t>(i);
    const std::int64_t zero = points.empty() ? 0 : points[block];
    out[element] = static_cast<float>(from[element] - zero) * scale[block];
  }
  up.set_op("Identity");
  up.set_input(0, up.add_constant("weights", std::move(reals)));
  up.truncate_inputs(1);
}

}  // namespace

// In the canonical opset the zero point determines the type of the result. A node whose
// `output_dtype` names a type other than uint8 therefore gets a zero point.
void upgrade_quantize_linear(Upgrade& up) {
  if (up.from() <= kCanonicalOpset) return;
  drop_defaults(up);
  if (up.take_int("block_size").value_or(0) != 0) up.fail("quantizes in blocks");
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
  const std::int64_t block = up.take_int("block_size").value_or(0);
  if (block != 0) dequantize_blocks(up, block);
}

}  // namespace qtool
