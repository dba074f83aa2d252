// QConvChain: integer convolutions of images with a real result, the element-wise functions behind
// them, and the rounding of their result. Lowering makes it from QConv, ElementwiseChain and
// Quantize or QuantizeWide, with the same bits; see ConvChainParams.
//
// A worker computes a few rows of an image at a time, a band, through all stages. The real numbers
// of a band stay in its second-level cache and are never stored as a tensor.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/text.h"
#include "kernels/quantize/quantize.h"
#include "ops/chain.h"
#include "ops/channel_factors.h"
#include "ops/integer/packed_product.h"
#include "ops/pieces.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace qtool {
namespace {

/// Real numbers of a band: two buffers of this size fit into half of a small second-level cache.
constexpr std::int64_t kBandElements = 16384;

/// Inputs of a node for each product: x, weights, bias.
constexpr std::size_t kProductInputs = 3;

class QConvChain final : public Operator {
 public:
  explicit QConvChain(const OpContext& op);

  void run(const Operands& o) const override {
    parallel_ranges(image_.batch * std::ssize(bands_), threads_,
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      std::byte* scratch = o.workspace() + worker * (buffers_ + conv_bytes_);
                      for (std::int64_t i = begin; i < end; ++i) {
                        run_band(o, i / std::ssize(bands_),
                                 bands_[static_cast<std::size_t>(i % std::ssize(bands_))], scratch);
                      }
                    });
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return threads_ * (buffers_ + conv_bytes_);
  }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override {
    const std::string convolution(convolutions_[0]->kernel());
    return chain_.empty() ? convolution : to_text(convolution, " and chain of ", chain_[0].steps());
  }

 private:
  [[nodiscard]] ConvShape shape_of_band(const Range64& rows) const;
  void divide_into_bands(int threads);
  void run_band(const Operands& o, std::int64_t image, const Range64& rows,
                std::byte* scratch) const;
  void round(const float* values, std::int64_t at, std::int64_t count, const Operands& o) const;

  // The first input row that a band reads, or 0 when it begins in the padding.
  [[nodiscard]] std::int64_t first_input_row(const Range64& rows) const {
    return std::max<std::int64_t>(0, rows.begin * image_.stride_h - image_.pad_top);
  }

  std::vector<std::shared_ptr<const PackedConv>> convolutions_;
  std::vector<Chain> chain_;  ///< none or one
  std::variant<EdgeParams, WideEdgeParams> rounding_;
  QuantizeKernel quantize_;
  ConvShape image_;         ///< the extents of a convolution of all images
  std::int64_t reach_ = 1;  ///< rows from the first tap of a window to the last one
  std::int64_t in_channels_;
  std::int64_t channels_;
  std::vector<Range64> bands_;  ///< output rows of an image
  int threads_;
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
  set_window(x, conv.window, image_);
  reach_ = (w[2] - 1) * image_.dilation_h + 1;
  in_channels_ = x[1];
  channels_ = w[0];
  for (std::size_t i = 0; i < params.products.size(); ++i) {
    const std::size_t weights = i * kProductInputs + 1;
    convolutions_.push_back(pack_product(op, {params.products[i], weights},
                                         ProductExtents{w[0], x[1], w[2], w[3], conv.groups}, "",
                                         op.constant(weights)->values<std::int8_t>()));
  }
  if (params.chain) chain_.emplace_back(*params.chain);
  rounding_ = params.rounding;
  has_factors_ = op.has_input(params.products.size() * kProductInputs);
  divide_into_bands(op.threads);
  const std::int64_t pixels = image_.batch * image_.out_h * image_.out_w;
  macs_ = std::ssize(convolutions_) * pixels * w.elements();
}

void QConvChain::divide_into_bands(int threads) {
  const std::int64_t row = image_.out_w * channels_;
  const std::int64_t elements = image_.batch * image_.out_h * row;
  threads_ = elements < kParallelElements ? 1 : threads;
  std::int64_t parts = std::max(image_.out_h * row / kBandElements,
                                ceil_div(threads_, std::max<std::int64_t>(1, image_.batch)));
  // Where the last rows read nothing but padding below the image, there is only one band.
  if ((image_.out_h - 1) * image_.stride_h - image_.pad_top >= image_.in_h) parts = 1;
  bands_ = divide_evenly(image_.out_h, std::max<std::int64_t>(1, parts));
  for (const Range64& rows : bands_) {
    buffer_ = std::max(buffer_, align_up((rows.end - rows.begin) * row *
                                         static_cast<std::int64_t>(sizeof(float))));
    for (const auto& convolution : convolutions_) {
      conv_bytes_ =
          std::max(conv_bytes_, align_up(convolution->workspace_bytes(shape_of_band(rows), 1)));
    }
  }
  buffers_ = convolutions_.size() + chain_.size() > 1 || has_factors_ ? 2 * buffer_ : buffer_;
}

// The convolution that gives these rows, from the input rows that its windows reach.
ConvShape QConvChain::shape_of_band(const Range64& rows) const {
  ConvShape shape = image_;
  const std::int64_t skipped = first_input_row(rows);
  shape.batch = 1;
  shape.pad_top -= rows.begin * image_.stride_h - skipped;
  shape.out_h = rows.end - rows.begin;
  shape.in_h =
      std::min(image_.in_h - skipped, (shape.out_h - 1) * image_.stride_h - shape.pad_top + reach_);
  return shape;
}

void QConvChain::run_band(const Operands& o, std::int64_t image, const Range64& rows,
                          std::byte* scratch) const {
  const ConvShape shape = shape_of_band(rows);
  const std::int64_t in_row = image_.in_w * in_channels_;
  const std::int64_t from = (image * image_.in_h + first_input_row(rows)) * in_row;
  const std::int64_t out_row = image_.out_w * channels_;
  const std::int64_t at = (image * image_.out_h + rows.begin) * out_row;
  const std::int64_t count = shape.out_h * out_row;

  // The stages write to the two buffers in turn.
  auto* values = reinterpret_cast<float*>(scratch);
  auto* other = reinterpret_cast<float*>(scratch + buffers_ - buffer_);
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    if (i > 0) std::swap(values, other);
    convolutions_[i]->run(shape, o.in<std::uint8_t>(i * kProductInputs) + from, values,
                          scratch + buffers_, 1, {nullptr, i == 0 ? nullptr : other});
  }
  const std::size_t factors = convolutions_.size() * kProductInputs;
  for (const Chain& chain : chain_) {
    std::vector<const float*> inputs{values};
    for (std::size_t i = factors + 1; i < o.input_count(); ++i) {
      inputs.push_back(o.in<float>(i) + at);
    }
    chain.run(inputs, other, count);
    std::swap(values, other);
  }
  if (has_factors_) {
    multiply_channels(values, o.in<float>(factors), shape.out_h * image_.out_w, channels_, other);
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
          LayoutRule::kChannelsLast};
}

}  // namespace qtool
