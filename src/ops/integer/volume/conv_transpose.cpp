#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/text.h"
#include "ops/integer/transposed_conv.h"
#include "ops/integer/volume/sliced_volume.h"
#include "ops/integer/volume/volume.h"

namespace qtool {
namespace {

// The weights of the taps of one residue of the depth: [M][C / groups][depth][pixels] in the order
// [M][taps][C / groups][pixels]. A gathered image has the channels of all slices that these taps
// read, one slice after the other.
std::vector<std::int8_t> taps_by_slice(const OpContext& op, const Residue& depth) {
  const Shape& shape = op.input(1).shape;
  const auto values = op.constant(1)->values<std::int8_t>();
  const std::int64_t pixels = shape[3] * shape[4];
  if (depth.taps.empty()) return zero_weights(op, shape[1] * pixels);
  std::vector<std::int8_t> sorted;
  for (std::int64_t m = 0; m < shape[0]; ++m) {
    for (const std::int64_t tap : depth.taps) {
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        const auto from = values.begin() + ((m * shape[1] + c) * shape[2] + tap) * pixels;
        sorted.insert(sorted.end(), from, from + pixels);
      }
    }
  }
  return sorted;
}

class VolumeConvTranspose final : public Operator {
 public:
  VolumeConvTranspose(const OpContext& op, const ConvGeometry& geometry)
      : batch_(geometry.output[0]),
        volume_(op.input(0).shape, geometry.groups,
                static_cast<std::uint8_t>(op.params<QProductParams>().input.zero_point)),
        out_channels_(geometry.output[1]),
        out_depth_(geometry.output[2]),
        out_pixels_(geometry.output[3] * geometry.output[4]) {
    const Shape& x = op.input(0).shape;
    const Window& window = geometry.window;
    const std::int64_t stride = window.strides[0];
    std::int64_t gathered = 0;
    for (std::int64_t r = 0; r < std::min(stride, out_depth_); ++r) {
      Residue depth = residue_of(window, 0, r);
      const std::int64_t taps = std::max<std::int64_t>(1, std::ssize(depth.taps));
      gathered = std::max(gathered, taps);
      TransposedConv conv(op, {x[1] * taps, geometry.groups, x[3], x[4], out_channels_, 1}, window,
                          taps_by_slice(op, depth),
                          to_text("volume ", r, " of ", stride, " ", window.dilations[0], " ",
                                  window.pads_begin[0] % stride, " "));
      scratch_bytes_ = std::max(scratch_bytes_, conv.scratch_bytes());
      phases_.push_back({std::move(depth), std::move(conv)});
    }
    if (requantizes_sums(op)) fixed_.emplace(fixed_output(op, out_channels_));
    element_ = product_type(op) == DType::kUInt8 ? 1 : 4;
    label_ = kernel_label(phases_.front().conv.kernel(), op.requantization);
    macs_ = x.elements() / x[1] * op.input(1).shape.elements();
    const std::int64_t results = out_depth_ * out_pixels_ * out_channels_;
    reserve(slices_at_, volume_.bytes());
    reserve(image_at_, volume_.pixels() * volume_.channels() * gathered);
    reserve(results_at_, results * element_);
    reserve(sums_at_, fixed_ ? results * 4 : 0);
    reserve(scratch_at_, scratch_bytes_ * std::max(op.threads, 1));
  }

  void run(const Operands& o) const override {
    const std::int64_t in_bytes = volume_.bytes();
    const std::int64_t out_bytes = out_channels_ * out_depth_ * out_pixels_ * element_;
    for (std::int64_t n = 0; n < batch_; ++n) {
      run_volume(o, o.in<std::byte>(0) + n * in_bytes, o.out<std::byte>(0) + n * out_bytes);
    }
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return label_; }

 private:
  struct Phase {
    Residue depth;
    TransposedConv conv;  // on the channels of all slices that the taps read
  };

  void reserve(std::int64_t& at, std::int64_t bytes) {
    at = workspace_;
    workspace_ += align_up(bytes);
  }

  void run_volume(const Operands& o, const std::byte* in, std::byte* out) const {
    std::byte* const workspace = o.workspace();
    volume_.sort(in, workspace + slices_at_, o.threads());
    std::byte* const made = workspace + (fixed_ ? sums_at_ : results_at_);
    for (std::int64_t z = 0; z < out_depth_; ++z) {
      const auto phases = std::ssize(phases_);
      const Phase& phase = phases_[static_cast<std::size_t>(z % phases)];
      // Without taps, one slice is gathered and multiplied by weights of 0, so its content does not
      // matter.
      const std::int64_t taps = std::max<std::int64_t>(1, std::ssize(phase.depth.taps));
      volume_.gather(workspace + slices_at_, z / phases - phase.depth.pad, phase.depth.dilation,
                     taps, workspace + image_at_, o.threads());
      const auto* image = reinterpret_cast<const std::uint8_t*>(workspace + image_at_);
      const std::int64_t row = phase.conv.out_width() * phase.conv.element_bytes();
      std::byte* const slice = made + z * phase.conv.out_height() * row;
      parallel_ranges(phase.conv.out_height(), o.threads(),
                      [&](std::int64_t from, std::int64_t to, int worker) {
                        std::byte* scratch = workspace + scratch_at_ + worker * scratch_bytes_;
                        for (std::int64_t y = from; y < to; ++y) {
                          phase.conv.run_row(image, y, slice + y * row, scratch);
                        }
                      });
    }
    const std::int64_t results = out_depth_ * out_pixels_;
    if (fixed_) {
      fixed_->run(results, reinterpret_cast<const std::int32_t*>(made), nullptr,
                  reinterpret_cast<std::uint8_t*>(workspace + results_at_), o.threads());
    }
    sort_back(workspace + results_at_, results, out_channels_, element_, out, o.threads());
  }

  std::int64_t batch_;
  SlicedVolume volume_;
  std::int64_t out_channels_;
  std::int64_t out_depth_;
  std::int64_t out_pixels_;
  std::vector<Phase> phases_;  // by residue of the depth
  std::optional<FixedOutput> fixed_;
  std::int64_t element_ = 1;        // bytes of an element of the result
  std::int64_t scratch_bytes_ = 0;  // bytes of one worker
  std::string label_;
  std::int64_t macs_ = 0;
  // Offsets of the parts of the workspace: one volume, channels-last; the gathered image; the
  // result; its int32 sums, if these are requantized with integers; the workspace of the kernels.
  std::int64_t slices_at_ = 0;
  std::int64_t image_at_ = 0;
  std::int64_t results_at_ = 0;
  std::int64_t sums_at_ = 0;
  std::int64_t scratch_at_ = 0;
  std::int64_t workspace_ = 0;
};

}  // namespace

std::unique_ptr<Operator> make_volume_conv_transpose(const OpContext& op,
                                                     const ConvGeometry& geometry) {
  return std::make_unique<VolumeConvTranspose>(op, geometry);
}

}  // namespace qtool
