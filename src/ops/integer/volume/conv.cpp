#include <algorithm>
#include <array>
#include <optional>

#include "base/round_up.h"
#include "base/text.h"
#include "ops/integer/packed_product.h"
#include "ops/integer/volume/sliced_volume.h"
#include "ops/integer/volume/volume.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// The weights [M][C / groups][depth][taps] in the order [M][depth][C / groups][taps]: a gathered
// image has the channels of `depth` slices, one slice after the other.
std::vector<std::int8_t> by_slice(const OpContext& op) {
  const Shape& shape = op.input(1).shape;
  const auto values = op.constant(1)->values<std::int8_t>();
  const std::int64_t taps = shape[3] * shape[4];
  std::vector<std::int8_t> sorted(values.size());
  auto to = sorted.begin();
  for (std::int64_t m = 0; m < shape[0]; ++m) {
    for (std::int64_t k = 0; k < shape[2]; ++k) {
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        const auto from = values.begin() + ((m * shape[1] + c) * shape[2] + k) * taps;
        to = std::copy_n(from, taps, to);
      }
    }
  }
  return sorted;
}

class VolumeConv final : public Operator {
 public:
  VolumeConv(const OpContext& op, const ConvGeometry& conv)
      : window_(conv.window),
        batch_(conv.output[0]),
        volume_(op.input(0).shape, conv.groups,
                static_cast<std::uint8_t>(op.params<QProductParams>().input.zero_point)),
        out_channels_(conv.output[1]),
        out_depth_(conv.output[2]),
        out_pixels_(conv.output[3] * conv.output[4]) {
    const Shape& x = op.input(0).shape;
    const Shape& w = op.input(1).shape;
    const ProductExtents extents{w[0], x[1] * w[2], w[3], w[4], conv.groups};
    conv_ = pack_product(op, extents, to_text("volume ", w[2]), by_slice(op));
    set_window(x, window_, shape_);
    shape_.batch = 1;
    if (requantizes_sums(op)) fixed_.emplace(fixed_output(op, out_channels_));
    element_ = product_type(op) == DType::kUInt8 ? 1 : 4;
    label_ = kernel_label(conv_->kernel(), op.requantization);
    macs_ = batch_ * out_depth_ * out_pixels_ * w.elements();
    plan_residual(op, conv.output);
    const std::int64_t results = out_depth_ * out_pixels_ * out_channels_;
    reserve(slices_at_, volume_.bytes());
    reserve(image_at_, volume_.pixels() * volume_.channels() * w[2]);
    reserve(residual_at_, residual_ ? results : 0);
    reserve(results_at_, results * element_);
    reserve(sums_at_, fixed_ ? results * 4 : 0);
    reserve(scratch_at_, conv_->workspace_bytes(shape_, op.threads));
  }

  void run(const Operands& o) const override {
    const std::int64_t in_bytes = volume_.bytes();
    const std::int64_t out_bytes = out_channels_ * out_depth_ * out_pixels_ * element_;
    for (std::int64_t n = 0; n < batch_; ++n) {
      run_volume(o, o.in<std::byte>(0) + n * in_bytes, n, o.out<std::byte>(0) + n * out_bytes);
    }
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return label_; }

 private:
  void reserve(std::int64_t& at, std::int64_t bytes) {
    at = workspace_;
    workspace_ += align_up(bytes);
  }

  void plan_residual(const OpContext& op, const Shape& out) {
    if (!op.has_input(3)) return;
    std::vector<std::int64_t> from = broadcast_strides(op.input(3).shape, op.input_layout(3), out);
    residual_step_ = from[0];
    from.erase(from.begin());
    const std::int64_t row = out[4] * out_channels_;
    residual_.emplace(std::vector<std::int64_t>(out.dims().begin() + 1, out.dims().end()),
                      std::array{std::vector<std::int64_t>{1, out[3] * row, row, out_channels_},
                                 std::move(from)});
  }

  void run_volume(const Operands& o, const std::byte* in, std::int64_t n, std::byte* out) const {
    std::byte* const workspace = o.workspace();
    volume_.sort(in, workspace + slices_at_, o.threads());
    if (residual_) {
      copy_strided(*residual_, 1, workspace + residual_at_, o.in<std::byte>(3) + n * residual_step_,
                   o.threads());
    }
    const auto* residual = reinterpret_cast<const std::uint8_t*>(workspace + residual_at_);
    const std::int64_t slice = out_pixels_ * out_channels_;
    for (std::int64_t z = 0; z < out_depth_; ++z) {
      volume_.gather(workspace + slices_at_, z * window_.strides[0] - window_.pads_begin[0],
                     window_.dilations[0], window_.kernel[0], workspace + image_at_, o.threads());
      const auto* image = reinterpret_cast<const std::uint8_t*>(workspace + image_at_);
      std::byte* to = fixed_ ? workspace + sums_at_ + z * slice * 4
                             : workspace + results_at_ + z * slice * element_;
      conv_->run(shape_, image, to, workspace + scratch_at_, o.threads(),
                 {residual_ && !fixed_ ? residual + z * slice : nullptr});
    }
    if (fixed_) {
      fixed_->run(out_depth_ * out_pixels_,
                  reinterpret_cast<const std::int32_t*>(workspace + sums_at_),
                  residual_ ? residual : nullptr,
                  reinterpret_cast<std::uint8_t*>(workspace + results_at_), o.threads());
    }
    sort_back(workspace + results_at_, out_depth_ * out_pixels_, out_channels_, element_, out,
              o.threads());
  }

  Window window_;
  std::int64_t batch_;
  SlicedVolume volume_;
  std::int64_t out_channels_;
  std::int64_t out_depth_;
  std::int64_t out_pixels_;
  std::shared_ptr<const PackedConv> conv_;
  ConvShape shape_;  // shape of one slice
  std::optional<FixedOutput> fixed_;
  std::optional<LoopNest<2>> residual_;
  std::int64_t residual_step_ = 0;  // bytes between the residuals of two volumes
  std::int64_t element_ = 1;        // bytes of an element of the result
  std::string label_;
  std::int64_t macs_ = 0;
  // Offsets of the parts of the workspace: one volume, channels-last; the gathered image; the
  // residual; the result; its int32 sums, if these are requantized with integers; the workspace of
  // the kernel.
  std::int64_t slices_at_ = 0;
  std::int64_t image_at_ = 0;
  std::int64_t residual_at_ = 0;
  std::int64_t results_at_ = 0;
  std::int64_t sums_at_ = 0;
  std::int64_t scratch_at_ = 0;
  std::int64_t workspace_ = 0;
};

}  // namespace

std::unique_ptr<Operator> make_volume_conv(const OpContext& op, const ConvGeometry& conv) {
  return std::make_unique<VolumeConv>(op, conv);
}

}  // namespace qtool
