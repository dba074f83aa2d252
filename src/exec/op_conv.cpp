// Convolution in FP32, through oneDNN. FusedConv is what lowering makes of Conv -> (Add) ->
// Relu/Clip: inputs X, W, B, residual; attributes clamp_min, clamp_max.
#include <algorithm>
#include <limits>

#include "exec/onednn.h"
#include "exec/operator.h"
#include "exec/spatial.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

onednn::ConvSpec conv_spec(const OpContext& op) {
  const ValueInfo& x = op.input(0);
  const ValueInfo& w = op.input(1);
  op.require(x.dtype == DType::kFloat32 && w.dtype == DType::kFloat32,
             concat("found ", name_of(x.dtype), " and ", name_of(w.dtype), ", expected float32"));
  op.require(w.shape.rank() == x.shape.rank() && x.shape.rank() >= 3 && x.shape.rank() <= 5,
             concat("input ", x.shape.to_string(), " and weight ", w.shape.to_string(),
                    " must have the same rank, 3 to 5"));
  onednn::ConvSpec spec;
  spec.source = x.shape;
  spec.weights = w.shape;
  spec.groups = op.node.get_int("group", 1);
  const std::int64_t channels = x.shape[1];
  const std::int64_t outputs = w.shape[0];
  op.require(x.shape.elements() > 0 && w.shape.elements() > 0, "a tensor is empty");
  op.require(spec.groups >= 1 && channels % spec.groups == 0 && outputs % spec.groups == 0,
             concat(spec.groups, " groups do not divide ", channels, " input and ", outputs,
                    " output channels"));
  op.require(w.shape[1] == channels / spec.groups,
             concat("weight has ", w.shape[1], " input channels, input has ", channels, " in ",
                    spec.groups, " groups"));
  const std::vector<std::int64_t> kernel(w.shape.dims().begin() + 2, w.shape.dims().end());
  spec.window = resolve_window(op, x.shape, kernel);
  std::vector<std::int64_t> out{x.shape[0], outputs};
  out.insert(out.end(), spec.window.output.begin(), spec.window.output.end());
  spec.destination = Shape(std::move(out));
  spec.bias = op.has_input(2);
  if (spec.bias) {
    op.require(
        op.input(2).shape == Shape{outputs} && op.input(2).dtype == DType::kFloat32,
        concat("bias has shape ", op.input(2).shape.to_string(), ", expected [", outputs, "]"));
  }
  spec.residual = op.has_input(3);
  if (op.node.has("clamp_min")) {
    spec.clamp =
        onednn::Clamp{op.node.get_float("clamp_min", 0.0F), op.node.get_float("clamp_max", 0.0F)};
  }
  return spec;
}

class FloatConv final : public Operator {
 public:
  explicit FloatConv(const OpContext& op) : FloatConv(op, with_layout(op)) {}

  void run(const Operands& o) const override {
    onednn::PackedPtr weights = weights_;
    if (!weights) {
      weights = conv_.pack(o.in<float>(1), o.has_input(2) ? o.in<float>(2) : nullptr);
    }
    conv_.run(o.in<float>(0), *weights, o.has_input(3) ? o.in<float>(3) : nullptr, o.out<float>(0),
              o.workspace());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return conv_.workspace_bytes(); }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return conv_.implementation(); }

 private:
  static onednn::ConvSpec with_layout(const OpContext& op) {
    onednn::ConvSpec spec = conv_spec(op);
    spec.layout = op.input_layout(0);
    return spec;
  }

  FloatConv(const OpContext& op, const onednn::ConvSpec& spec) : conv_(spec, op.threads) {
    macs_ = spec.destination.elements() / spec.weights[0] * spec.weights.elements();
    const Tensor* weights = op.constant(1);
    const Tensor* bias = op.constant(2);
    if (weights == nullptr || (spec.bias && bias == nullptr)) return;  // packed at each run
    const auto make = [&]() -> std::shared_ptr<const void> {
      return conv_.pack(weights->values<float>().data(),
                        bias != nullptr ? bias->values<float>().data() : nullptr);
    };
    // A residual may follow a fusion, the output's name then belongs to the Add: the weights' name
    // and the bias' name say which constants these are.
    const std::string key =
        concat("conv ", op.graph.value(op.node.inputs[1]).name, "\n",
               spec.bias ? op.graph.value(op.node.inputs[2]).name : "", "\n", conv_.format());
    weights_ = std::static_pointer_cast<const onednn::Packed>(op.packs->get(key, make));
  }

  onednn::Convolution conv_;
  onednn::PackedPtr weights_;
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
