// Integer transposed convolution with constant weights. Made by lowering:
//   QConvTranspose(x u8, w s8 [M, C/g, kernel...], bias i32)
// with QProductParams, over two or three axes.
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "ops/integer/transposed_conv.h"
#include "ops/integer/volume/volume.h"

namespace qtool {
namespace {

class QuantizedConvTranspose final : public Operator {
 public:
  QuantizedConvTranspose(const OpContext& op, const ConvGeometry& geometry)
      : batch_(geometry.output[0]),
        in_bytes_(op.input(0).shape.elements() / batch_),
        conv_(op,
              {op.input(0).shape[1], geometry.groups, op.input(0).shape[2], op.input(0).shape[3],
               geometry.output[1]},
              geometry.window, op.constant(1)->values<std::int8_t>(), "") {
    macs_ = op.input(0).shape.elements() / op.input(0).shape[1] * op.input(1).shape.elements();
    if (requantizes_sums(op)) {
      fixed_ = std::make_unique<FixedOutput>(fixed_output(op, geometry.output[1]));
      sum_bytes_ = align_up(rows() * conv_.out_width() * conv_.element_bytes());
    }
    label_ = kernel_label(conv_.kernel(), op.requantization);
    workspace_ = sum_bytes_ + conv_.scratch_bytes() * std::max(op.threads, 1);
  }

  void run(const Operands& o) const override {
    const auto* input = o.in<std::uint8_t>(0);
    std::byte* output =
        fixed_ ? o.workspace() : reinterpret_cast<std::byte*>(o.out<std::uint8_t>(0));
    std::byte* const scratch = o.workspace() + sum_bytes_;
    const std::int64_t row_bytes = conv_.out_width() * conv_.element_bytes();
    parallel_ranges(rows(), o.threads(), [&](std::int64_t from, std::int64_t to, int worker) {
      for (std::int64_t row = from; row < to; ++row) {
        conv_.run_row(input + row / conv_.out_height() * in_bytes_, row % conv_.out_height(),
                      output + row * row_bytes, scratch + worker * conv_.scratch_bytes());
      }
    });
    if (!fixed_) return;
    fixed_->run(rows() * conv_.out_width(), reinterpret_cast<const std::int32_t*>(output), nullptr,
                o.out<std::uint8_t>(0), o.threads());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return label_; }

 private:
  [[nodiscard]] std::int64_t rows() const { return batch_ * conv_.out_height(); }

  std::int64_t batch_;
  std::int64_t in_bytes_;  // bytes of one image
  TransposedConv conv_;
  std::unique_ptr<FixedOutput> fixed_;
  std::string label_;
  std::int64_t sum_bytes_ = 0;
  std::int64_t workspace_ = 0;
  std::int64_t macs_ = 0;
};

}  // namespace

OpDef op_QConvTranspose() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{product_type(op), integer_conv_transpose(op).output}};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            const ConvGeometry geometry = integer_conv_transpose(op);
            if (op.input(0).shape.rank() == 5) return make_volume_conv_transpose(op, geometry);
            return std::make_unique<QuantizedConvTranspose>(op, geometry);
          },
          LayoutRule::kImages};
}

}  // namespace qtool
