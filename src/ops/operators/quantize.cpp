#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"
#include "qtool/quant/affine.h"

// QuantizeLinear and DequantizeLinear as the specification defines them; lowering replaces them
// where it can.
namespace qtool {
namespace {

// Loops over (output, input, slice of the scale); one slice for the whole tensor when the scale is
// a single element.
LoopNest<3> slice_loops(const OpContext& op) {
  const Shape& shape = op.output(0).shape;
  std::vector<std::int64_t> slices(static_cast<std::size_t>(shape.rank()), 0);
  if (op.input(1).shape.elements() > 1) {
    const std::int64_t axis = axis_of(op, op.node.get_int("axis", 1), shape.rank());
    slices[static_cast<std::size_t>(axis)] = 1;
  }
  return {shape.dims(),
          {strides_of(shape, op.output_layout(0)),
           strides_of(op.input(0).shape, op.input_layout(0)), slices}};
}

void check_scale(const OpContext& op) {
  require_type(op, 1, FloatType{});
  const Shape& shape = op.input(0).shape;
  const Shape& scale = op.input(1).shape;
  op.require(scale.rank() <= 1, to_text("the scale has shape ", scale.to_string(),
                                        ", expected a single number or a list"));
  if (scale.elements() != 1) {
    const std::int64_t axis = axis_of(op, op.node.get_int("axis", 1), shape.rank());
    op.require(scale[0] == shape[axis], to_text("the scale has ", scale[0], " elements, axis ",
                                                axis, " has extent ", shape[axis]));
  }
  if (const Tensor* constant = op.constant(1)) {
    for (const float value : constant->values<float>()) {
      if (std::isfinite(value) && value > 0.0F) continue;  // a text for each value takes long
      op.require(false, to_text("the scale holds ", value, ", expected finite numbers above 0"));
    }
  }
  if (op.has_input(2)) {
    const Shape& zero = op.input(2).shape;
    op.require(
        zero.rank() <= 1 && zero.elements() == scale.elements(),
        to_text("the zero point has shape ", zero.to_string(), ", the scale ", scale.to_string()));
  }
}

using QuantizedTypes = TypeList<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;
using StoredTypes = TypeList<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t>;

std::vector<ValueInfo> infer_quantize(const OpContext& op) {
  require_type(op, 0, FloatType{});
  check_scale(op);
  if (op.has_input(2)) require_type(op, 2, QuantizedTypes{});
  const DType dtype = op.has_input(2) ? op.input(2).dtype : DType::kUInt8;
  return {{dtype, op.input(0).shape}};
}

std::vector<ValueInfo> infer_dequantize(const OpContext& op) {
  require_type(op, 0, StoredTypes{});
  check_scale(op);
  if (op.has_input(2)) require_same_type(op, 0, 2);
  return {{DType::kFloat32, op.input(0).shape}};
}

// saturate(round_half_even(x / scale) + zero_point), as in quantize_value(). NaN gives the zero
// point.
template <typename Q>
Q quantize(float x, float scale, std::int32_t zero_point) {
  // Adding 1.5 * 2^23 leaves no fraction bits, so the addition itself rounds, ties to even. It
  // vectorizes on all instruction sets. After the clamp the sum is small enough.
  constexpr float kRound = 12582912.0F;
  const auto low = static_cast<float>(std::numeric_limits<Q>::min() - zero_point);
  const auto high = static_cast<float>(std::numeric_limits<Q>::max() - zero_point);
  float scaled = x / scale;
  scaled = scaled == scaled ? scaled : 0.0F;
  scaled = scaled < low ? low : scaled;
  scaled = scaled > high ? high : scaled;
  const float rounded = (scaled + kRound) - kRound;
  return static_cast<Q>(static_cast<std::int32_t>(rounded) + zero_point);
}

template <typename Q>
float dequantize(Q q, float scale, std::int32_t zero_point) {
  if constexpr (sizeof(Q) == 1) {
    return static_cast<float>(static_cast<std::int32_t>(q) - zero_point) * scale;
  } else {
    return static_cast<float>(static_cast<std::int64_t>(q) - zero_point) * scale;
  }
}

// Applies out = f(in, scale, zero point) through the loops; Z is the type of the zero point.
template <typename In, typename Out, typename Z, typename F>
std::unique_ptr<Operator> make_sliced(const OpContext& op, F f) {
  return make_operator([nest = slice_loops(op), f](const Operands& o) {
    const In* in = o.in<In>(0);
    const float* scales = o.in<float>(1);
    const Z* zeros = o.has_input(2) ? o.in<Z>(2) : nullptr;
    Out* out = o.out<Out>(0);
    const std::int64_t to = nest.inner_step(0);
    const std::int64_t from = nest.inner_step(1);
    const std::int64_t slice = nest.inner_step(2);
    const auto zero_of = [zeros](std::int64_t i) -> std::int32_t {
      return zeros == nullptr ? 0 : static_cast<std::int32_t>(zeros[i]);
    };
    nest.run(o.threads(), [&](std::int64_t count, const LoopNest<3>::Offsets& at) {
      const In* x = in + at[1];
      Out* y = out + at[0];
      if (to == 1 && from == 1 && slice == 0) {
        const float scale = scales[at[2]];
        const std::int32_t zero = zero_of(at[2]);
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(x[i], scale, zero);
      } else if (to == 1 && from == 1 && slice == 1 && zeros == nullptr) {
        const float* scale = scales + at[2];
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(x[i], scale[i], 0);
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t s = at[2] + i * slice;
          y[i * to] = f(x[i * from], scales[s], zero_of(s));
        }
      }
    });
  });
}

std::unique_ptr<Operator> make_quantize(const OpContext& op) {
  return make_for_type(QuantizedTypes{}, op.output(0).dtype, [&](auto element) {
    using Q = decltype(element);
    return make_sliced<float, Q, Q>(
        op, [](float x, float scale, std::int32_t zero) { return quantize<Q>(x, scale, zero); });
  });
}

std::unique_ptr<Operator> make_dequantize(const OpContext& op) {
  return make_for_type(StoredTypes{}, op.input(0).dtype, [&](auto element) {
    using Q = decltype(element);
    return make_sliced<Q, float, Q>(
        op, [](Q q, float scale, std::int32_t zero) { return dequantize<Q>(q, scale, zero); });
  });
}

std::vector<ValueInfo> infer_dynamic(const OpContext& op) {
  require_first_output(op);
  require_type(op, 0, FloatType{});
  return {{DType::kUInt8, op.input(0).shape}, {DType::kFloat32, {}}, {DType::kUInt8, {}}};
}

// The range of the data, widened to contain 0. NaN is ignored.
Range range_with_zero(std::span<const float> data) {
  constexpr std::size_t kLanes = 16;  // side by side, so that the loop vectorizes
  std::array<float, kLanes> low{};
  std::array<float, kLanes> high{};
  const std::size_t whole = data.size() / kLanes * kLanes;
  in_pieces(static_cast<std::int64_t>(whole), [&](std::int64_t begin, std::int64_t end) {
    for (auto at = static_cast<std::size_t>(begin); at < static_cast<std::size_t>(end);
         at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float x = data[at + lane];
        low[lane] = x < low[lane] ? x : low[lane];
        high[lane] = x > high[lane] ? x : high[lane];
      }
    }
  });
  for (std::size_t i = whole; i < data.size(); ++i) {
    low[0] = data[i] < low[0] ? data[i] : low[0];
    high[0] = data[i] > high[0] ? data[i] : high[0];
  }
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

// Maps the range of the data, widened to contain 0, to the whole of uint8. A tensor of zeros gets
// scale 1, because ONNX does not define its scale.
void quantize_dynamically(const QuantizeKernel& kernel, const Operands& o) {
  const std::span<const float> in = o.input(0).values<float>();
  const Range range = range_with_zero(in);
  QuantizeParams affine;
  affine.scale = range.max > range.min ? (range.max - range.min) / 255.0F : 1.0F;
  affine.zero_point = quantize<std::uint8_t>(-range.min, affine.scale, 0);
  const auto count = static_cast<std::int64_t>(in.size());
  auto* out = o.out<std::uint8_t>(0);
  for_pieces(count, o.threads(), [&](std::int64_t begin, std::int64_t end) {
    kernel.quantize(affine, in.data() + begin, out + begin, end - begin);
  });
  if (o.has_output(1)) *o.out<float>(1) = affine.scale;
  if (o.has_output(2)) *o.out<std::uint8_t>(2) = static_cast<std::uint8_t>(affine.zero_point);
}

std::unique_ptr<Operator> make_dynamic(const OpContext& op) {
  // Works in any layout if input and output have the same one.
  QTOOL_CHECK(op.input_layout(0) == op.output_layout(0));
  return make_operator(
      [kernel = QuantizeKernel()](const Operands& o) { quantize_dynamically(kernel, o); },
      QuantizeKernel().kernel());
}

}  // namespace

OpDef op_QuantizeLinear() { return {infer_quantize, make_quantize, LayoutRule::kAny}; }
OpDef op_DequantizeLinear() { return {infer_dequantize, make_dequantize, LayoutRule::kAny}; }
OpDef op_DynamicQuantizeLinear() { return {infer_dynamic, make_dynamic, LayoutRule::kAny}; }

}  // namespace qtool
