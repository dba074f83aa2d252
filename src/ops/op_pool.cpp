// Pooling in FP32, through oneDNN. A global pool is a pool whose window is the whole image.
#include "base/text.h"
#include "ops/onednn.h"
#include "ops/operator.h"
#include "ops/spatial.h"

namespace qtool {
namespace {

enum class Extent : std::uint8_t { kWindow, kGlobal };

Window pool_window(const OpContext& op, Extent extent) {
  const Shape& x = op.input(0).shape;
  op.require(op.input(0).dtype == DType::kFloat32,
             concat("found ", name_of(op.input(0).dtype), ", expected float32"));
  op.require(x.rank() >= 3 && x.rank() <= 5 && x.elements() > 0,
             concat("input ", x.to_string(), " must have rank 3 to 5 and elements"));
  if (extent == Extent::kWindow) return resolve_window(op, x, {});
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  Window window;
  window.kernel.assign(x.dims().begin() + 2, x.dims().end());
  window.strides = window.dilations = window.output = std::vector<std::int64_t>(axes, 1);
  window.pads_begin = window.pads_end = std::vector<std::int64_t>(axes, 0);
  return window;
}

Shape pooled_shape(const Shape& x, const Window& window) {
  std::vector<std::int64_t> out{x[0], x[1]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  return Shape(std::move(out));
}

class FloatPool final : public Operator {
 public:
  explicit FloatPool(const onednn::PoolSpec& spec, int threads) : pool_(spec, threads) {}
  void run(const Operands& o) const override {
    pool_.run(o.in<float>(0), o.out<float>(0), o.workspace());
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return pool_.workspace_bytes(); }
  [[nodiscard]] std::string kernel() const override { return "pooling"; }

 private:
  onednn::Pooling pool_;
};

template <Extent extent>
std::vector<ValueInfo> infer(const OpContext& op) {
  if (op.node.has_output(1)) {
    op.fail(ErrorCode::kUnsupported, "the output Indices is not supported");
  }
  return {{DType::kFloat32, pooled_shape(op.input(0).shape, pool_window(op, extent))}};
}

template <Extent extent, onednn::PoolKind kind>
std::unique_ptr<Operator> make(const OpContext& op) {
  onednn::PoolSpec spec;
  spec.source = op.input(0).shape;
  spec.window = pool_window(op, extent);
  spec.destination = pooled_shape(spec.source, spec.window);
  spec.kind = kind;
  if (kind == onednn::PoolKind::kAverageExcludingPadding && extent == Extent::kWindow &&
      op.node.get_int("count_include_pad", 0) != 0) {
    spec.kind = onednn::PoolKind::kAverageIncludingPadding;
  }
  spec.layout = op.input_layout(0);
  return std::make_unique<FloatPool>(spec, op.threads);
}

}  // namespace

OpDef op_MaxPool() {
  return {infer<Extent::kWindow>, make<Extent::kWindow, onednn::PoolKind::kMax>,
          LayoutRule::kChannelsLast};
}
OpDef op_AveragePool() {
  return {infer<Extent::kWindow>, make<Extent::kWindow, onednn::PoolKind::kAverageExcludingPadding>,
          LayoutRule::kChannelsLast};
}
OpDef op_GlobalMaxPool() {
  return {infer<Extent::kGlobal>, make<Extent::kGlobal, onednn::PoolKind::kMax>,
          LayoutRule::kChannelsLast};
}
OpDef op_GlobalAveragePool() {
  return {infer<Extent::kGlobal>, make<Extent::kGlobal, onednn::PoolKind::kAverageExcludingPadding>,
          LayoutRule::kChannelsLast};
}

}  // namespace qtool
