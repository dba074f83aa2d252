// Integer convolution and matrix product with constant weights. Made by lowering:
//   QConv(x u8, w s8 [M, C/g, kh, kw], bias i32), QGemm(x u8 [..., K], w s8 [N, K], bias i32)
// with QProductParams.
#include <algorithm>
#include <utility>

#include "base/round_up.h"
#include "base/text.h"
#include "kernels/conv/conv.h"
#include "ops/fixed_point.h"
#include "ops/operator.h"
#include "ops/spatial.h"

namespace qtool {
namespace {

DType result_type(const OpContext& op) {
  return op.params<QProductParams>().result ? DType::kUInt8 : DType::kFloat32;
}

// s_x s_w[c], one per output channel; the product rounds to float as ONNX's int32 bias scale does.
std::vector<float> product_scales(const QProductParams& params, std::int64_t channels) {
  const auto weight_scales = params.weight_scales->values<float>();
  const float input_scale = params.input.scale;
  std::vector<float> scales;
  for (std::int64_t c = 0; c < channels; ++c) {
    scales.push_back(input_scale *
                     weight_scales[weight_scales.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
  }
  return scales;
}

// Whether the kernel stores int32 sums, which are then requantized with integers only.
bool fixed_result(const OpContext& op) {
  return op.params<QProductParams>().result && op.requantization != Requantization::kFloat;
}

struct Extents {
  std::int64_t out_channels, in_channels, kernel_h, kernel_w, groups;
};

// Identifies the epilogue that the kernel is packed for, for sharing packed weights.
std::string form_of(const OpContext& op, const Extents& extents) {
  const auto& params = op.params<QProductParams>();
  std::string form =
      concat("qconv ", extents.out_channels, " ", extents.in_channels, " ", extents.kernel_h, " ",
             extents.kernel_w, " ", extents.groups, " ", params.input.zero_point);
  if (fixed_result(op)) return form + " i32";
  form += concat(" ", params.input.scale);
  if (!params.result) return form + " f32";
  const QuantizedResult& y = *params.result;
  return form + concat(" u8 ", y.affine.scale, " ", y.affine.zero_point, " ", y.low, " ", y.high);
}

std::shared_ptr<const PackedConv> pack(const OpContext& op, const Extents& extents) {
  const auto& params = op.params<QProductParams>();
  const auto make = [&] {
    ConvWeights weights;
    weights.values = op.constant(1)->values<std::int8_t>();
    weights.out_channels = extents.out_channels;
    weights.in_channels = extents.in_channels;
    weights.kernel_h = extents.kernel_h;
    weights.kernel_w = extents.kernel_w;
    weights.groups = extents.groups;
    if (op.has_input(2)) weights.bias = op.constant(2)->values<std::int32_t>();
    weights.input_zero_point = params.input.zero_point;
    const auto stored = params.weight_zero_points->values<std::int32_t>();
    std::vector<std::int32_t> zero_points(stored.begin(), stored.end());
    if (std::all_of(zero_points.begin(), zero_points.end(), [](auto z) { return z == 0; })) {
      zero_points.clear();
    } else if (zero_points.size() == 1) {
      zero_points.resize(static_cast<std::size_t>(extents.out_channels), zero_points[0]);
    }
    weights.weight_zero_points = zero_points;
    if (fixed_result(op)) return std::make_shared<PackedConv>(PackedConv::of_sums(weights));
    std::vector<float> scales = product_scales(params, extents.out_channels);
    if (!params.result) return std::make_shared<PackedConv>(weights, std::move(scales));
    const QuantizedResult& y = *params.result;
    Epilogue epilogue;
    epilogue.multiplier = std::move(scales);
    for (float& multiplier : epilogue.multiplier) multiplier /= y.affine.scale;
    epilogue.zero_point = y.affine.zero_point;
    epilogue.low = y.low;
    epilogue.high = y.high;
    return std::make_shared<PackedConv>(weights, std::move(epilogue));
  };
  return op.packed<PackedConv>(
      {form_of(op, extents),
       {op.shared_constant(1), op.shared_constant(2), params.weight_zero_points,
        fixed_result(op) ? nullptr : params.weight_scales}},
      make);
}

class QuantizedConv final : public Operator {
 public:
  QuantizedConv(const OpContext& op, const Extents& extents, const ConvShape& shape)
      : conv_(pack(op, extents)), shape_(shape) {
    workspace_ = conv_->workspace_bytes(shape, op.threads);
    macs_ = shape.batch * shape.out_h * shape.out_w * op.input(1).shape.elements();
  }
  void run(const Operands& o) const override {
    conv_->run(shape_, o.in<std::uint8_t>(0), o.out<void>(0), o.workspace(), o.threads());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return std::string(conv_->kernel()); }

 private:
  std::shared_ptr<const PackedConv> conv_;
  ConvShape shape_;
  std::int64_t workspace_ = 0;
  std::int64_t macs_ = 0;
};

// s_x s_w[c] / s_y in double, one per output channel.
std::vector<double> fixed_multipliers(const QProductParams& params, std::int64_t channels) {
  const auto weight_scales = params.weight_scales->values<float>();
  const auto input_scale = static_cast<double>(params.input.scale);
  const auto output_scale = static_cast<double>(params.result.value().affine.scale);
  std::vector<double> multipliers;
  for (std::int64_t c = 0; c < channels; ++c) {
    const float weight_scale =
        weight_scales[weight_scales.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    multipliers.push_back(input_scale * static_cast<double>(weight_scale) / output_scale);
  }
  return multipliers;
}

// The same with sums in the workspace, which are requantized with integers only.
class FixedPointConv final : public Operator {
 public:
  FixedPointConv(const OpContext& op, const Extents& extents, const ConvShape& shape)
      : FixedPointConv(op, extents, shape, op.params<QProductParams>()) {}

  void run(const Operands& o) const override {
    auto* sums = reinterpret_cast<std::int32_t*>(o.workspace());
    conv_->run(shape_, o.in<std::uint8_t>(0), sums, o.workspace() + sum_bytes_, o.threads());
    output_.run(pixels_, sums, o.out<std::uint8_t>(0), o.threads());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return label_; }

 private:
  FixedPointConv(const OpContext& op, const Extents& extents, const ConvShape& shape,
                 const QProductParams& params)
      : conv_(pack(op, extents)),
        output_(op.requantization, fixed_multipliers(params, extents.out_channels),
                params.result->affine.zero_point, {params.result->low, params.result->high}),
        label_(kernel_label(conv_->kernel(), op.requantization)),
        shape_(shape),
        pixels_(shape.batch * shape.out_h * shape.out_w) {
    sum_bytes_ = align_up(pixels_ * extents.out_channels * 4);
    workspace_ = sum_bytes_ + conv_->workspace_bytes(shape, op.threads);
    macs_ = pixels_ * op.input(1).shape.elements();
  }

  std::shared_ptr<const PackedConv> conv_;
  FixedOutput output_;
  std::string label_;
  ConvShape shape_;
  std::int64_t pixels_;
  std::int64_t sum_bytes_ = 0;
  std::int64_t workspace_ = 0;
  std::int64_t macs_ = 0;
};

std::unique_ptr<Operator> make_product(const OpContext& op, const Extents& extents,
                                       const ConvShape& shape) {
  if (fixed_result(op)) return std::make_unique<FixedPointConv>(op, extents, shape);
  return std::make_unique<QuantizedConv>(op, extents, shape);
}

std::vector<ValueInfo> infer_conv(const OpContext& op) {
  op.require(op.input(0).shape.rank() == 4, "only images have an integer convolution");
  return {{result_type(op), resolve_conv(op, op.input(0).shape, op.input(1).shape).output}};
}

std::unique_ptr<Operator> make_conv(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  const ConvGeometry conv = resolve_conv(op, x, w);
  const Window& window = conv.window;
  ConvShape shape;
  set_window(x, window, shape);
  return make_product(op, Extents{w[0], x[1], w[2], w[3], conv.groups}, shape);
}

std::vector<ValueInfo> infer_gemm(const OpContext& op) {
  std::vector<std::int64_t> dims = op.input(0).shape.dims();
  op.require(!dims.empty() && dims.back() == op.input(1).shape[1],
             concat("cannot multiply ", op.input(0).shape.to_string(), " by the transpose of ",
                    op.input(1).shape.to_string()));
  dims.back() = op.input(1).shape[0];
  return {{result_type(op), Shape(std::move(dims))}};
}

std::unique_ptr<Operator> make_gemm(const OpContext& op) {
  const Shape& w = op.input(1).shape;
  ConvShape shape;  // one pixel per row
  shape.in_w = shape.out_w = op.input(0).shape.elements() / std::max<std::int64_t>(1, w[1]);
  return make_product(op, Extents{w[0], w[1], 1, 1, 1}, shape);
}

}  // namespace

OpDef op_QConv() { return {infer_conv, make_conv, LayoutRule::kChannelsLast}; }
OpDef op_QGemm() { return {infer_gemm, make_gemm, LayoutRule::kPlain}; }

}  // namespace qtool
