#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "kernels/conv/driver.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/round_to_u8.h"
#include "qtool/tensor/tensor.h"

namespace qtool {
namespace {

class DepthwiseConv final : public ConvDriver {
 public:
  DepthwiseConv(const ConvWeights& weights, ConvOutput output, const KernelSelection& selection)
      : kernel_(select_kernel(depthwise_kernels(), selection)),
        output_(std::move(output)),
        channels_(weights.out_channels),
        kernel_h_(weights.kernel_h),
        kernel_w_(weights.kernel_w),
        zero_pixel_(static_cast<std::size_t>(kDepthwiseBlock),
                    static_cast<std::uint8_t>(weights.input_zero_point)) {
    const FoldedWeights folded = fold_weights(weights);
    terms_ = folded.terms;
    const std::int64_t positions = kernel_h_ * kernel_w_;
    // The values are reordered from one filter after another to one kernel position after another.
    std::vector<std::int8_t> values(folded.values.size());
    for (std::int64_t term = 0; term < terms_; ++term) {
      for (std::int64_t channel = 0; channel < channels_; ++channel) {
        for (std::int64_t position = 0; position < positions; ++position) {
          values[static_cast<std::size_t>((term * positions + position) * channels_ + channel)] =
              folded.values[static_cast<std::size_t>((term * channels_ + channel) * positions +
                                                     position)];
        }
      }
    }
    DepthwiseWeights filters;
    filters.values = values.data();
    filters.terms = terms_;
    filters.kernel_h = kernel_h_;
    filters.kernel_w = kernel_w_;
    filters.channels = channels_;
    filters.bias = folded.bias.data();
    filters.multiplier = output_.multiplier.data();
    if (output_.curve) filters.factors = output_.factors.data();
    packed_ = Tensor(DType::kUInt8, {kernel_.functions->packed_bytes(filters)});
    kernel_.functions->pack(filters, packed_.data());
  }

  [[nodiscard]] std::string_view kernel() const override { return kernel_.name; }
  [[nodiscard]] std::int64_t workspace_bytes(const ConvShape& shape,
                                             int /*threads*/) const override {
    if (!output_.residual && output_.negative.empty()) return 0;
    return shape.batch * shape.out_h * shape.out_w * channels_ * 4 + kAlignment;
  }

  void run(const ConvShape& shape, const std::uint8_t* input, void* output, std::byte* workspace,
           int threads, const ConvAdded& added) const override {
    const std::uint8_t* residual = added.residual;
    if (residual == nullptr && output_.negative.empty()) {
      return run_kernel(shape, input, output, output_.type, added.base, threads);
    }
    // A residual after a depthwise convolution is rare, and so are multipliers for sums below 0.
    // The kernels do not know them; a loop over their sums does.
    auto* sums = reinterpret_cast<std::int32_t*>(align_up(workspace));
    ConvShape dense = shape;
    dense.out_pixel_stride = channels_;
    run_kernel(dense, input, sums, OutputType::kInt32, nullptr, threads);
    const std::int64_t pixels = shape.batch * shape.out_h * shape.out_w;
    parallel_ranges(pixels, threads, [&](std::int64_t from, std::int64_t to, int /*worker*/) {
      StopPace pace;
      for (std::int64_t pixel = from; pixel < to; ++pixel) {
        pace.step(channels_);
        convert(sums + pixel * channels_,
                residual == nullptr ? nullptr : residual + pixel * channels_,
                static_cast<std::uint8_t*>(output) + pixel * shape.out_pixel_stride);
      }
    });
  }

 private:
  // Converts the sums and the residual, if there is one, of a pixel to bytes.
  void convert(const std::int32_t* sums, const std::uint8_t* residual, std::uint8_t* out) const {
    const Residual added = output_.residual.value_or(Residual());
    for (std::int64_t c = 0; c < channels_; ++c) {
      const bool negative = sums[c] < 0 && !output_.negative.empty();
      const auto& multiplier = negative ? output_.negative : output_.multiplier;
      float real = static_cast<float>(sums[c]) * multiplier[static_cast<std::size_t>(c)];
      if (residual != nullptr) {
        const std::int32_t q = residual[c];
        real += static_cast<float>(q - added.zero_point) * added.multiplier;
      }
      out[c] = round_to_u8(real, output_.zero_point, output_.low, output_.high);
    }
  }

  void run_kernel(const ConvShape& shape, const std::uint8_t* input, void* output, OutputType type,
                  const float* base, int threads) const {
    DepthwiseCall call = call_of(shape);
    call.output_type = type;
    call.onto_stride = channels_;
    std::array<std::uint8_t, kDepthwiseBlock> padding;
    if (shape.padding) {
      padding.fill(*shape.padding);
      call.zero_pixel = padding.data();
    }
    const std::int64_t rows = kernel_.functions->rows;
    const std::int64_t steps = ceil_div(shape.out_h, rows);
    const std::int64_t blocks = ceil_div(channels_, kDepthwiseBlock);
    const std::int64_t in_bytes = shape.in_h * shape.in_w * shape.in_pixel_stride;
    const std::int64_t out_bytes =
        shape.out_h * shape.out_w * shape.out_pixel_stride * (type == OutputType::kUInt8 ? 1 : 4);
    // The last block of an image may have few channels and take less time, so work is divided by
    // sixteens of channels.
    constexpr std::int64_t kShares = kDepthwiseBlock / 16;
    const std::int64_t last_shares = ceil_div(channels_ - (blocks - 1) * kDepthwiseBlock, 16);
    const std::int64_t image_shares = ((blocks - 1) * kShares + last_shares) * steps;
    // The number of steps before a share: whole images, whole blocks, and part of a block.
    const auto steps_before = [&](std::int64_t share) {
      const std::int64_t image = share / image_shares;
      const std::int64_t inside = share % image_shares;
      const std::int64_t block = inside / (kShares * steps);
      const std::int64_t rest = inside - block * kShares * steps;
      return (image * blocks + block) * steps +
             ceil_div(rest, block + 1 == blocks ? last_shares : kShares);
    };
    // A long run can be stopped between two kernel calls.
    constexpr std::int64_t kTapsPerCall = 1 << 24;
    const std::int64_t taps = rows * shape.out_w * terms_ * kernel_h_ * kernel_w_;  // per step
    const std::int64_t most = kTapsPerCall / std::max<std::int64_t>(1, taps) + 1;
    const std::int64_t shares = shape.batch * image_shares;
    parallel_ranges(shares, threads, [&](std::int64_t first, std::int64_t end, int /*worker*/) {
      DepthwiseCall part = call;
      StopPace pace;
      std::int64_t from = steps_before(first);
      const std::int64_t to = steps_before(end);
      while (from < to) {
        const std::int64_t step = from % steps;
        const std::int64_t last = std::min(steps, step + std::min(most, to - from));
        pace.step((last - step) * taps);
        const std::int64_t image = from / steps / blocks;
        part.block = from / steps % blocks;
        part.input = input + image * in_bytes;
        part.output = static_cast<std::byte*>(output) + image * out_bytes;
        if (base != nullptr) part.onto = base + image * shape.out_h * shape.out_w * channels_;
        part.row_begin = step * rows;
        part.row_end = std::min(shape.out_h, last * rows);
        kernel_.functions->run(part);
        from += last - step;
      }
    });
  }

  [[nodiscard]] DepthwiseCall call_of(const ConvShape& shape) const {
    DepthwiseCall call;
    call.in_h = shape.in_h;
    call.in_w = shape.in_w;
    call.in_pixel_stride = shape.in_pixel_stride;
    call.out_w = shape.out_w;
    call.out_pixel_stride = shape.out_pixel_stride;
    call.channels = channels_;
    call.terms = terms_;
    call.kernel_h = kernel_h_;
    call.kernel_w = kernel_w_;
    call.stride_h = shape.stride_h;
    call.stride_w = shape.stride_w;
    call.dilation_h = shape.dilation_h;
    call.dilation_w = shape.dilation_w;
    call.pad_top = shape.pad_top;
    call.pad_left = shape.pad_left;
    call.packed = packed_.data();
    call.zero_pixel = zero_pixel_.data();
    call.addend = output_.addend.data();
    call.zero_point = output_.zero_point;
    call.low = output_.low;
    call.high = output_.high;
    if (output_.curve) call.curve = &*output_.curve;
    return call;
  }

  const KernelRow<DepthwiseFunctions>& kernel_;
  ConvOutput output_;
  std::int64_t terms_ = 1;
  std::int64_t channels_;
  std::int64_t kernel_h_;
  std::int64_t kernel_w_;
  std::vector<std::uint8_t> zero_pixel_;
  Tensor packed_;
};

}  // namespace

std::unique_ptr<const ConvDriver> make_depthwise_driver(const ConvWeights& weights,
                                                        ConvOutput output,
                                                        const KernelSelection& selection) {
  return std::make_unique<const DepthwiseConv>(weights, std::move(output), selection);
}

}  // namespace qtool
