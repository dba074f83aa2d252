// Transposed convolution in FP32, through oneDNN; windows that oneDNN does not take run in a plain
// loop. Lowering turns ConvTranspose -> Relu/Clip into FusedConvTranspose with FusedParams.
#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "ops/float_weights.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace qtool {
namespace {

onednn::WeightedSpec deconv_spec(const OpContext& op) {
  require_float_operands(op);
  onednn::WeightedSpec spec;
  set_weighted_spec(op, resolve_conv_transpose(op, op.input(0).shape, op.input(1).shape), spec);
  return spec;
}

// A plain loop after ONNX's definition, one output element at a time, without the clamp.
class TransposedLoop {
 public:
  explicit TransposedLoop(const onednn::WeightedSpec& spec)
      : spec_(spec),
        source_strides_(strides_of(spec.source, spec.layout)),
        destination_strides_(strides_of(spec.destination, spec.layout)),
        weight_strides_(strides_of(spec.weights, spec.weights_layout)) {}

  void run(const float* source, const float* weights, const float* bias, float* destination,
           int threads) const {
    const std::int64_t outputs = spec_.destination[1];
    const std::int64_t pixels = spec_.destination.elements() / outputs;
    const std::int64_t area = pixels / spec_.destination[0];
    parallel_ranges(pixels, threads, [&](std::int64_t from, std::int64_t to, int) {
      std::vector<std::int64_t> at(spec_.window.kernel.size());
      StopPace pace;
      for (std::int64_t pixel = from; pixel < to; ++pixel) {
        pace.step(spec_.weights.elements());
        std::int64_t rest = pixel % area;
        std::int64_t offset = pixel / area * destination_strides_[0];
        for (std::size_t axis = at.size(); axis-- > 0;) {
          at[axis] = rest % spec_.window.output[axis];
          rest /= spec_.window.output[axis];
          offset += at[axis] * destination_strides_[axis + 2];
        }
        for (std::int64_t m = 0; m < outputs; ++m) {
          const float start = bias == nullptr ? 0.0F : bias[m];
          destination[offset + m * destination_strides_[1]] =
              start + sum(source + pixel / area * source_strides_[0], weights, m, at);
        }
      }
    });
  }

 private:
  // The sum over the taps that reach output channel `m` at position `at`.
  float sum(const float* image, const float* weights, std::int64_t m,
            const std::vector<std::int64_t>& at) const {
    const Window& window = spec_.window;
    const std::int64_t per_group = spec_.weights[1];
    const std::int64_t inputs = spec_.source[1] / spec_.groups;
    const std::int64_t first = m / per_group * inputs;
    const std::int64_t taps = spec_.weights.elements() / (spec_.weights[0] * spec_.weights[1]);
    float total = 0.0F;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t from = first * source_strides_[1];
      std::int64_t weight = first * weight_strides_[0] + m % per_group * weight_strides_[1];
      bool reaches = true;
      std::int64_t rest = tap;
      for (std::size_t axis = at.size(); reaches && axis-- > 0;) {
        const std::int64_t k = rest % window.kernel[axis];
        rest /= window.kernel[axis];
        const std::int64_t begin = at[axis] + window.pads_begin[axis] - k * window.dilations[axis];
        const std::int64_t index = begin / window.strides[axis];
        reaches = begin >= 0 && begin % window.strides[axis] == 0 &&
                  index < spec_.source[static_cast<std::int64_t>(axis) + 2];
        from += index * source_strides_[axis + 2];
        weight += k * weight_strides_[axis + 2];
      }
      for (std::int64_t c = 0; reaches && c < inputs; ++c) {
        total += image[from + c * source_strides_[1]] * weights[weight + c * weight_strides_[0]];
      }
    }
    return total;
  }

  onednn::WeightedSpec spec_;
  std::vector<std::int64_t> source_strides_;
  std::vector<std::int64_t> destination_strides_;
  std::vector<std::int64_t> weight_strides_;
};

class FloatConvTranspose final : public Operator {
 public:
  explicit FloatConvTranspose(const OpContext& op) : clamp_(op.fused_clamp()) {
    onednn::WeightedSpec spec = deconv_spec(op);
    spec.layout = op.input_layout(0);
    spec.weights_layout = op.input_layout(1);
    macs_ = spec.source.elements() / spec.source[1] * spec.weights.elements();
    if (!onednn::Deconvolution::takes(spec.window)) {
      loop_ = std::make_unique<TransposedLoop>(spec);
      return;
    }
    deconv_ = std::make_unique<onednn::Deconvolution>(spec, op.threads);
    if (!deconv_->ends_soon()) {
      deconv_.reset();
      loop_ = std::make_unique<TransposedLoop>(spec);
      return;
    }
    weights_ = packed_constants(op, "deconv", *deconv_, spec.bias);
  }

  void run(const Operands& o) const override {
    const float* bias = o.has_input(2) ? o.in<float>(2) : nullptr;
    if (deconv_ == nullptr) {
      loop_->run(o.in<float>(0), o.in<float>(1), bias, o.out<float>(0), o.threads());
    } else {
      const onednn::PackedPtr weights = weights_ ? weights_ : deconv_->pack(o.in<float>(1), bias);
      deconv_->run(o.in<float>(0), *weights, o.out<float>(0), o.workspace());
    }
    if (clamp_) clamp(o.out<float>(0), o.output(0).shape.elements(), o.threads());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return deconv_ == nullptr ? 0 : deconv_->workspace_bytes();
  }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override {
    return deconv_ == nullptr ? "fp32" : deconv_->implementation();
  }

 private:
  void clamp(float* values, std::int64_t count, int threads) const {
    for_pieces(count, threads, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        values[i] = std::min(std::max(values[i], clamp_->min), clamp_->max);
      }
    });
  }

  std::optional<Clamp> clamp_;
  std::unique_ptr<TransposedLoop> loop_;  // either loop_ or deconv_ is set
  std::unique_ptr<onednn::Deconvolution> deconv_;
  onednn::PackedPtr weights_;  // null when packed at each run
  std::int64_t macs_ = 0;
};

OpDef conv_transpose_row() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{DType::kFloat32, deconv_spec(op).destination}};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<FloatConvTranspose>(op);
          },
          LayoutRule::kChannelsLast};
}

}  // namespace

OpDef op_ConvTranspose() { return conv_transpose_row(); }
OpDef op_FusedConvTranspose() { return conv_transpose_row(); }

}  // namespace qtool
