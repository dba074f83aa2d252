// QConvChain: integer convolutions of images with a real result, the element-wise functions behind
// them, and the rounding of their result. Lowering makes it from QConv, element-wise nodes and
// Quantize or QuantizeWide, with the same bits but for a wide curve; see ConvChainParams.
//
// A worker computes a few rows of an image at a time, a band, through all stages. The real numbers
// of a band stay in its second-level cache and are never stored as a tensor.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/text.h"
#include "kernels/quantize/quantize.h"
#include "kernels/wide_curve/wide_curve.h"
#include "ops/chain.h"
#include "ops/channel_factors.h"
#include "ops/integer/packed_product.h"
#include "ops/pieces.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace qtool {
namespace {

/// Real numbers of a band, unless one row has more: two buffers of this size fit into half of a
/// small second-level cache.
constexpr std::int64_t kBandElements = 16384;

/// Inputs of a node for each product: x, weights, bias.
constexpr std::size_t kProductInputs = 3;

class QConvChain final : public Operator {
 public:
  explicit QConvChain(const OpContext& op);

  void run(const Operands& o) const override {
    parallel_ranges(image_.batch * std::ssize(bands_), workers_,
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      std::byte* scratch = o.workspace() + worker * (buffers_ + conv_bytes_);
                      for (std::int64_t i = begin; i < end; ++i) {
                        run_band(o, i / std::ssize(bands_),
                                 bands_[static_cast<std::size_t>(i % std::ssize(bands_))], scratch);
                      }
                    });
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return workers_ * (buffers_ + conv_bytes_);
  }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override {
    const std::string convolution(convolutions_[0]->kernel());
    if (curve_) return to_text(convolution, " and curve");
    return chain_ ? to_text(convolution, " and chain of ", chain_->steps()) : convolution;
  }

 private:
  void set_shape(const Shape& x, const Shape& w, const Window& window);
  void divide_into_bands(int threads);
  [[nodiscard]] ConvShape shape_of_band(const Range64& rows) const;
  void run_band(const Operands& o, std::int64_t image, const Range64& rows,
                std::byte* scratch) const;
  void round(const float* values, std::int64_t at, std::int64_t count, const Operands& o) const;

  [[nodiscard]] bool has_low_byte() const {
    return std::holds_alternative<WideEdgeParams>(rounding_);
  }
  // The first input row that the windows of a band reach. It may be in the padding.
  [[nodiscard]] std::int64_t first_row(const Range64& rows) const {
    return rows.begin * image_.stride_h - image_.pad_top;
  }
  // The input rows above the ones that a band reads.
  [[nodiscard]] std::int64_t skipped_rows(const Range64& rows) const {
    return std::clamp<std::int64_t>(first_row(rows), 0, image_.in_h);
  }

  std::vector<std::shared_ptr<const PackedConv>> convolutions_;
  std::optional<Chain> chain_;
  std::variant<EdgeParams, WideEdgeParams> rounding_;
  QuantizeKernel quantize_;
  std::optional<WideCurve> curve_;
  WideCurveKernel wide_curve_;
  ConvShape image_;  ///< the extents of a convolution of all images
  std::int64_t kernel_h_ = 1;
  std::int64_t kernel_w_ = 1;
  std::int64_t in_channels_ = 0;
  std::int64_t channels_ = 0;
  std::vector<Range64> bands_;  ///< output rows of an image
  int workers_ = 1;             ///< threads that compute bands
  int conv_threads_ = 1;        ///< threads of the convolution of one band
  bool has_factors_;
  std::int64_t buffer_ = 0;      ///< bytes of one buffer of real numbers
  std::int64_t buffers_ = 0;     ///< of both buffers of a worker
  std::int64_t conv_bytes_ = 0;  ///< the workspace of a worker's convolution
  std::int64_t macs_ = 0;
};

QConvChain::QConvChain(const OpContext& op) {
  const auto& params = op.params<ConvChainParams>();
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  const ConvGeometry conv = resolve_conv(op, x, w);
  set_shape(x, w, conv.window);
  const ProductExtents extents{channels_, in_channels_, kernel_h_, kernel_w_, conv.groups};
  for (std::size_t i = 0; i < params.products.size(); ++i) {
    const std::size_t weights = i * kProductInputs + 1;
    convolutions_.push_back(pack_product(op, {params.products[i], weights}, extents, "",
                                         op.constant(weights)->values<std::int8_t>()));
  }
  if (params.chain) chain_.emplace(*params.chain);
  rounding_ = params.rounding;
  curve_ = params.curve;
  has_factors_ = op.has_input(params.products.size() * kProductInputs);
  const std::int64_t pixels = image_.batch * image_.out_h * image_.out_w;
  macs_ = std::ssize(convolutions_) * pixels * w.elements();
  divide_into_bands(op.threads);
}

// Images of one row, which networks over one axis have, and pointwise convolutions become images of
// one column: their rows are divided then.
void QConvChain::set_shape(const Shape& x, const Shape& w, const Window& window) {
  set_window(x, window, image_);
  in_channels_ = x[1];
  channels_ = w[0];
  kernel_h_ = w[2];
  kernel_w_ = w[3];
  if (is_pointwise(window)) {
    image_.in_h = image_.out_h = image_.in_h * image_.in_w;
    image_.in_w = image_.out_w = 1;
  } else if (image_.in_h == 1 && image_.out_h == 1 && kernel_h_ == 1 && image_.pad_top == 0) {
    std::swap(image_.in_h, image_.in_w);
    std::swap(image_.out_h, image_.out_w);
    std::swap(image_.stride_h, image_.stride_w);
    std::swap(image_.dilation_h, image_.dilation_w);
    std::swap(image_.pad_top, image_.pad_left);
    std::swap(kernel_h_, kernel_w_);
  }
}

void QConvChain::divide_into_bands(int threads) {
  const std::int64_t row = image_.out_w * channels_;
  const std::int64_t rows = image_.batch * image_.out_h;
  // Few rows are divided by channels, inside the convolution.
  const bool divides_rows = rows * row >= kParallelElements && rows >= 2 * threads;
  (divides_rows ? workers_ : conv_threads_) = threads;
  const std::int64_t bands = ceil_div(rows * row, kBandElements);
  const std::int64_t wanted = ceil_div(bands, workers_) * workers_;
  bands_ = divide_evenly(image_.out_h, ceil_div(wanted, std::max<std::int64_t>(1, image_.batch)));
  for (const Range64& band : bands_) {
    buffer_ = std::max(buffer_, align_up((band.end - band.begin) * row *
                                         static_cast<std::int64_t>(sizeof(float))));
    for (const auto& convolution : convolutions_) {
      conv_bytes_ = std::max(
          conv_bytes_, align_up(convolution->workspace_bytes(shape_of_band(band), conv_threads_)));
    }
  }
  buffers_ =
      convolutions_.size() > 1 || chain_ || (has_factors_ && !curve_) ? 2 * buffer_ : buffer_;
}

// The convolution that gives these rows, from the input rows that its windows reach. There are none
// if all windows are in the padding.
ConvShape QConvChain::shape_of_band(const Range64& rows) const {
  ConvShape shape = image_;
  const std::int64_t skipped = skipped_rows(rows);
  const std::int64_t count = rows.end - rows.begin;
  const std::int64_t reach = (kernel_h_ - 1) * image_.dilation_h + 1;
  const std::int64_t end = first_row(rows) + (count - 1) * image_.stride_h + reach;
  shape.batch = 1;
  shape.pad_top = std::max<std::int64_t>(0, -first_row(rows));
  shape.out_h = count;
  shape.in_h = std::clamp<std::int64_t>(end - skipped, 0, image_.in_h - skipped);
  return shape;
}

void QConvChain::run_band(const Operands& o, std::int64_t image, const Range64& rows,
                          std::byte* scratch) const {
  const ConvShape shape = shape_of_band(rows);
  const std::int64_t in_row = image_.in_w * in_channels_;
  const std::int64_t from = (image * image_.in_h + skipped_rows(rows)) * in_row;
  const std::int64_t out_row = image_.out_w * channels_;
  const std::int64_t at = (image * image_.out_h + rows.begin) * out_row;
  const std::int64_t count = shape.out_h * out_row;

  // The stages write to the two buffers in turn.
  auto* values = reinterpret_cast<float*>(scratch);
  auto* other = reinterpret_cast<float*>(scratch + buffers_ - buffer_);
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    if (i > 0) std::swap(values, other);
    convolutions_[i]->run(shape, o.in<std::uint8_t>(i * kProductInputs) + from, values,
                          scratch + buffers_, conv_threads_, {nullptr, i == 0 ? nullptr : other});
  }
  const std::size_t factors = convolutions_.size() * kProductInputs;
  if (chain_) {
    std::vector<const float*> inputs{values};
    for (std::size_t i = factors + 1; i < o.input_count(); ++i) {
      inputs.push_back(o.in<float>(i) + at);
    }
    chain_->run(inputs, other, count);
    std::swap(values, other);
  }
  const float* const factors_of_channels = has_factors_ ? o.in<float>(factors) : nullptr;
  if (curve_) {
    std::uint8_t* const low = has_low_byte() ? o.out<std::uint8_t>(1) + at : nullptr;
    return wide_curve_.run(*curve_, {values, factors_of_channels, o.out<std::uint8_t>(0) + at, low,
                                     count / channels_, channels_});
  }
  if (has_factors_) {
    multiply_channels(values, factors_of_channels, shape.out_h * image_.out_w, channels_, other);
    std::swap(values, other);
  }
  round(values, at, count, o);
}

void QConvChain::round(const float* values, std::int64_t at, std::int64_t count,
                       const Operands& o) const {
  const auto params_of = [](const Affine& affine) {
    return QuantizeParams{affine.scale, affine.zero_point};
  };
  if (const auto* wide = std::get_if<WideEdgeParams>(&rounding_)) {
    quantize_.quantize_wide(params_of(wide->high), params_of(wide->low), values,
                            o.out<std::uint8_t>(0) + at, o.out<std::uint8_t>(1) + at, count);
  } else {
    quantize_.quantize(params_of(std::get<EdgeParams>(rounding_).affine), values,
                       o.out<std::uint8_t>(0) + at, count);
  }
}

std::vector<ValueInfo> infer_conv_chain(const OpContext& op) {
  const auto& params = op.params<ConvChainParams>();
  const Shape shape = resolve_conv(op, op.input(0).shape, op.input(1).shape).output;
  const std::size_t bytes = std::holds_alternative<WideEdgeParams>(params.rounding) ? 2 : 1;
  return std::vector<ValueInfo>(bytes, {DType::kUInt8, shape});
}

}  // namespace

OpDef op_QConvChain() {
  return {infer_conv_chain,
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<QConvChain>(op);
          },
          LayoutRule::kImages};
}

}  // namespace qtool
