// Convolution in FP32, through oneDNN. Lowering turns Conv -> (Add) -> Relu/Clip and Conv -> SiLU,
// HardSwish or LeakyRelu into FusedConv: inputs X, W, B, residual; FusedParams.
#include <memory>
#include <utility>

#include "base/text.h"
#include "ops/float_weights.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"
#include "ops/spatial.h"

namespace qtool {
namespace {

onednn::ConvSpec conv_spec(const OpContext& op) {
  require_float_operands(op);
  onednn::ConvSpec spec;
  set_weighted_spec(op, resolve_conv(op, op.input(0).shape, op.input(1).shape), spec);
  spec.residual = op.has_input(3);
  if (spec.residual) {  // only fusion adds a residual; a Conv in a model has three inputs
    op.require(op.node.domain == kLoweredDomain && op.input(3).shape == spec.destination &&
                   op.input(3).dtype == DType::kFloat32,
               to_text("found a fourth input of shape ", op.input(3).shape.to_string(),
                       ", expected at most three inputs"));
  }
  spec.clamp = op.fused_clamp();
  spec.function = op.fused_function();
  return spec;
}

class FloatConv final : public Operator {
 public:
  explicit FloatConv(const OpContext& op) : FloatConv(op, with_layout(op)) {}

  void run(const Operands& o) const override {
    onednn::PackedPtr weights = weights_;
    if (!weights) {
      weights = conv_->pack(o.in<float>(1), o.has_input(2) ? o.in<float>(2) : nullptr);
    }
    conv_->run(o.in<float>(0), *weights, o.has_input(3) ? o.in<float>(3) : nullptr, o.out<float>(0),
               o.workspace());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return conv_->workspace_bytes(); }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return conv_->implementation(); }

 private:
  static onednn::ConvSpec with_layout(const OpContext& op) {
    onednn::ConvSpec spec = conv_spec(op);
    spec.layout = op.input_layout(0);
    spec.weights_layout = op.input_layout(1);
    spec.packs_once = op.constant(1) != nullptr && (!op.has_input(2) || op.constant(2) != nullptr);
    return spec;
  }

  FloatConv(const OpContext& op, const onednn::ConvSpec& spec)
      : conv_(onednn::make_convolution(spec, op.threads)) {
    macs_ = spec.destination.elements() / spec.weights[0] * spec.weights.elements();
    weights_ = packed_constants(op, "conv", *conv_, spec.bias);
  }

  std::unique_ptr<const onednn::Convolution> conv_;
  onednn::PackedPtr weights_;  // null when packed at each run
  std::int64_t macs_ = 0;
};

OpDef conv_row() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{DType::kFloat32, conv_spec(op).destination}};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<FloatConv>(op);
          },
          LayoutRule::kChannelsLast};
}

}  // namespace

OpDef op_Conv() { return conv_row(); }
OpDef op_FusedConv() { return conv_row(); }

}  // namespace qtool
