// Integer convolution and matrix product with constant weights. Made by lowering:
//   QConv(x u8, w s8 [M, C/g, kh, kw], bias i32, residual u8),
//   QGemm(x u8 [..., K], w s8 [N, K], bias i32),
// both with QProductParams. Without a quantized result, both may have an input 3: a float32 tensor
// of the shape of the output, which is added to the output.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/round_up.h"
#include "base/text.h"
#include "ops/integer/packed_product.h"
#include "ops/integer/volume/volume.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// Packs all the weights, unchanged.
std::shared_ptr<const PackedConv> pack_whole(const OpContext& op, const ProductExtents& extents) {
  return pack_product(op, extents, "", op.constant(1)->values<std::int8_t>());
}

// The residual that a QConv adds, in the shape and layout of the result: input 3 itself, or a copy
// in the workspace when input 3 broadcasts or has another layout.
class ResidualInput {
 public:
  explicit ResidualInput(const OpContext& op)
      : exists_(op.has_input(3) && op.params<QProductParams>().residual.has_value()) {
    if (!exists_) return;
    const Shape& out = op.output(0).shape;
    if (op.input(3).shape == out && op.input_layout(3) == op.output_layout(0)) return;
    copy_.emplace(out.dims(),
                  std::array{strides_of(out, op.output_layout(0)),
                             broadcast_strides(op.input(3).shape, op.input_layout(3), out)});
    bytes_ = align_up(out.elements());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const { return bytes_; }
  /// Null when there is no residual. `workspace`: workspace_bytes() bytes.
  [[nodiscard]] const std::uint8_t* read(const Operands& o, std::byte* workspace) const {
    if (!exists_) return nullptr;
    if (!copy_) return o.in<std::uint8_t>(3);
    copy_strided(*copy_, 1, workspace, o.in<std::byte>(3), o.threads());
    return reinterpret_cast<const std::uint8_t*>(workspace);
  }

 private:
  bool exists_;
  std::optional<LoopNest<2>> copy_;
  std::int64_t bytes_ = 0;
};

class QuantizedConv final : public Operator {
 public:
  QuantizedConv(const OpContext& op, const ProductExtents& extents, const ConvShape& shape)
      : conv_(pack_whole(op, extents)),
        residual_(op),
        shape_(shape),
        has_base_(op.has_input(3) && !op.params<QProductParams>().result) {
    workspace_ = residual_.workspace_bytes() + conv_->workspace_bytes(shape, op.threads);
    macs_ = shape.batch * shape.out_h * shape.out_w * op.input(1).shape.elements();
  }
  void run(const Operands& o) const override {
    const ConvAdded added{residual_.read(o, o.workspace()), has_base_ ? o.in<float>(3) : nullptr};
    conv_->run(shape_, o.in<std::uint8_t>(0), o.out<void>(0),
               o.workspace() + residual_.workspace_bytes(), o.threads(), added);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return std::string(conv_->kernel()); }

 private:
  std::shared_ptr<const PackedConv> conv_;
  ResidualInput residual_;
  ConvShape shape_;
  bool has_base_;  ///< input 3 is the result of another product
  std::int64_t workspace_ = 0;
  std::int64_t macs_ = 0;
};

// A QConv or QGemm whose kernel writes int32 sums to the workspace. The sums are then requantized
// with integers only.
class FixedPointConv final : public Operator {
 public:
  FixedPointConv(const OpContext& op, const ProductExtents& extents, const ConvShape& shape)
      : conv_(pack_whole(op, extents)),
        residual_(op),
        output_(fixed_output(op, extents.out_channels)),
        label_(kernel_label(conv_->kernel(), op.requantization)),
        shape_(shape),
        pixels_(shape.batch * shape.out_h * shape.out_w) {
    sum_bytes_ = align_up(pixels_ * extents.out_channels * 4);
    workspace_ =
        residual_.workspace_bytes() + sum_bytes_ + conv_->workspace_bytes(shape, op.threads);
    macs_ = pixels_ * op.input(1).shape.elements();
  }
  void run(const Operands& o) const override {
    const std::uint8_t* residual = residual_.read(o, o.workspace());
    std::byte* scratch = o.workspace() + residual_.workspace_bytes();
    auto* sums = reinterpret_cast<std::int32_t*>(scratch);
    conv_->run(shape_, o.in<std::uint8_t>(0), sums, scratch + sum_bytes_, o.threads());
    output_.run(pixels_, sums, residual, o.out<std::uint8_t>(0), o.threads());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return label_; }

 private:
  std::shared_ptr<const PackedConv> conv_;
  ResidualInput residual_;
  FixedOutput output_;
  std::string label_;
  ConvShape shape_;
  std::int64_t pixels_;
  std::int64_t sum_bytes_ = 0;
  std::int64_t workspace_ = 0;
  std::int64_t macs_ = 0;
};

std::unique_ptr<Operator> make_conv_product(const OpContext& op, const ProductExtents& extents,
                                            const ConvShape& shape) {
  if (requantizes_sums(op)) return std::make_unique<FixedPointConv>(op, extents, shape);
  return std::make_unique<QuantizedConv>(op, extents, shape);
}

std::vector<ValueInfo> infer_qconv(const OpContext& op) {
  const std::int64_t rank = op.input(0).shape.rank();
  op.require(rank == 4 || rank == 5, "only images and volumes have an integer convolution");
  return {{product_type(op), resolve_conv(op, op.input(0).shape, op.input(1).shape).output}};
}

std::unique_ptr<Operator> make_qconv(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  const ConvGeometry conv = resolve_conv(op, x, w);
  if (x.rank() == 5) return make_volume_conv(op, conv);
  const Window& window = conv.window;
  ConvShape shape;
  set_window(x, window, shape);
  return make_conv_product(op, ProductExtents{w[0], x[1], w[2], w[3], conv.groups}, shape);
}

std::vector<ValueInfo> infer_qgemm(const OpContext& op) {
  std::vector<std::int64_t> dims = op.input(0).shape.dims();
  op.require(!dims.empty() && dims.back() == op.input(1).shape[1],
             to_text("cannot multiply ", op.input(0).shape.to_string(), " by the transpose of ",
                     op.input(1).shape.to_string()));
  dims.back() = op.input(1).shape[0];
  return {{product_type(op), Shape(std::move(dims))}};
}

std::unique_ptr<Operator> make_qgemm(const OpContext& op) {
  const Shape& w = op.input(1).shape;
  ConvShape shape;  // one pixel per row
  shape.in_w = shape.out_w = op.input(0).shape.elements() / std::max<std::int64_t>(1, w[1]);
  return make_conv_product(op, ProductExtents{w[0], w[1], 1, 1, 1}, shape);
}

}  // namespace

OpDef op_QConv() { return {infer_qconv, make_qconv, LayoutRule::kImages}; }
OpDef op_QGemm() { return {infer_qgemm, make_qgemm, LayoutRule::kPlain}; }

}  // namespace qtool
