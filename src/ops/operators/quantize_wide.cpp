// QuantizeWide(x f32, factors f32 [channels]): both bytes of a tensor that keeps 16 bits, in one
// pass. Lowering makes it from Mul, QuantizeLinear, DequantizeLinear, Sub and QuantizeLinear. It
// rounds to float at the same points, so the bits are the same.
#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "base/round_up.h"
#include "kernels/quantize/quantize.h"
#include "ops/channel_factors.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"

namespace qtool {
namespace {

/// Floats that a worker processes at once, so that they stay in the first-level cache.
constexpr std::int64_t kWidePiece = 4096;

class QuantizeWide final : public Operator {
 public:
  explicit QuantizeWide(const OpContext& op) {
    const auto& [high, low] = op.params<WideEdgeParams>();
    high_ = {high.scale, high.zero_point};
    low_ = {low.scale, low.zero_point};
    const Shape& shape = op.input(0).shape;
    elements_ = shape.elements();
    planes_ = op.input_layout(0) != op.output_layout(0);
    multiplies_ = op.has_input(1);
    if (!planes_ && !multiplies_) return;
    images_ = shape[0];
    channels_ = shape[1];
    pixels_ = shape[2] * shape[3];
    piece_ = std::max<std::int64_t>(1, kWidePiece / std::max<std::int64_t>(channels_, 1));
    buffer_ = align_up(piece_ * channels_ * static_cast<std::int64_t>(sizeof(float)));
    workspace_ = (planes_ ? 2 : op.threads) * buffer_;
  }

  void run(const Operands& o) const override {
    if (elements_ == 0) return;
    if (planes_) return run_planes(o);
    if (multiplies_) return run_scaled(o);
    for_pieces(elements_, o.threads(), [&](std::int64_t begin, std::int64_t end) {
      kernel_.quantize_wide(high_, low_, o.in<float>(0) + begin, o.out<std::uint8_t>(0) + begin,
                            o.out<std::uint8_t>(1) + begin, end - begin);
    });
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::string kernel() const override { return std::string(kernel_.kernel()); }

 private:
  /// For channels-last floats with factors: multiplies each channel by its factor.
  void run_scaled(const Operands& o) const {
    const auto* factors = o.in<float>(1);
    const int threads = elements_ < kParallelElements ? 1 : o.threads();
    parallel_ranges(images_ * pixels_, threads,
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      auto* products = reinterpret_cast<float*>(o.workspace() + worker * buffer_);
                      StopPace pace;
                      for (std::int64_t pixel = begin; pixel < end; pixel += piece_) {
                        pace.step(piece_ * channels_);
                        const std::int64_t count = std::min(piece_, end - pixel);
                        const std::int64_t at = pixel * channels_;
                        multiply_channels(o.in<float>(0) + at, factors, count, channels_, products);
                        kernel_.quantize_wide(high_, low_, products, o.out<std::uint8_t>(0) + at,
                                              o.out<std::uint8_t>(1) + at, count * channels_);
                      }
                    });
  }

  /// For floats in plain layout, such as a network's input: one plane per channel.
  void run_planes(const Operands& o) const {
    auto* products = reinterpret_cast<float*>(o.workspace());
    auto* rest = reinterpret_cast<float*>(o.workspace() + buffer_);
    StopPace pace;
    for (std::int64_t item = 0; item < images_ * pixels_;) {
      pace.step(piece_ * channels_);
      const std::int64_t image = item / pixels_;
      const std::int64_t pixel = item % pixels_;
      const std::int64_t count = std::min(piece_, pixels_ - pixel);
      const float* from = o.in<float>(0) + image * channels_ * pixels_ + pixel;
      const PlaneGeometry own{channels_, count, count, channels_};
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float factor = multiplies_ ? o.in<float>(1)[c] : 1.0F;
        for (std::int64_t p = 0; p < count; ++p) {
          products[c * count + p] = from[c * pixels_ + p] * factor;
        }
      }
      auto* high = o.out<std::uint8_t>(0) + item * channels_;
      auto* low = o.out<std::uint8_t>(1) + item * channels_;
      kernel_.quantize_planes(high_, own, products, high);
      kernel_.dequantize_planes(high_, own, high, rest);
      for (std::int64_t i = 0; i < count * channels_; ++i) rest[i] = products[i] - rest[i];
      kernel_.quantize_planes(low_, own, rest, low);
      item += count;
    }
  }

  QuantizeKernel kernel_;
  QuantizeParams high_;
  QuantizeParams low_;
  std::int64_t elements_ = 0;
  std::int64_t images_ = 0;
  std::int64_t channels_ = 0;
  std::int64_t pixels_ = 0;
  std::int64_t piece_ = 0;  ///< pixels
  std::int64_t buffer_ = 0;
  std::int64_t workspace_ = 0;
  bool planes_ = false;      ///< the bytes are channels-last, the floats are not
  bool multiplies_ = false;  ///< the floats are multiplied by factors
};

}  // namespace

OpDef op_QuantizeWide() {
  return {[](const OpContext& op) {
            const ValueInfo bytes{DType::kUInt8, op.input(0).shape};
            return std::vector<ValueInfo>{bytes, bytes};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<QuantizeWide>(op);
          },
          LayoutRule::kToChannelsLast};
}

}  // namespace qtool
