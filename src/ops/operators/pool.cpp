// Pooling, in FP32 through oneDNN. Other types, indices of the largest elements, and windows that
// are too large for oneDNN run in plain loops.
#include <limits>

#include "base/text.h"
#include "ops/byte_pool.h"
#include "ops/infer_rules.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"
#include "ops/spatial.h"
#include "ops/window_loop.h"

namespace qtool {
namespace {

using PooledTypes = TypeList<std::uint8_t, std::int8_t, double>;

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

template <PoolExtent extent>
std::vector<ValueInfo> infer_pool(const OpContext& op) {
  require_type(op, 0, FloatType{});
  return {{DType::kFloat32, pooled_shape(op.input(0).shape, pool_window(op, extent))}};
}

// MaxPool also takes bytes and doubles, and can return the indices of the largest elements.
std::vector<ValueInfo> infer_max_pool(const OpContext& op) {
  require_dtype_in(op, 0, {DType::kFloat32, DType::kUInt8, DType::kInt8, DType::kFloat64});
  require_first_output(op);
  const Window window = pool_window(op, PoolExtent::kWindow);
  const Shape shape = pooled_shape(op.input(0).shape, window);
  return {{op.input(0).dtype, shape}, {DType::kInt64, shape}};
}

// The step of each spatial coordinate in the flat index of a plane: row by row, or column by
// column.
std::vector<std::int64_t> index_steps(const OpContext& op) {
  const std::vector<std::int64_t>& dims = op.input(0).shape.dims();
  const auto axes = dims.size() - 2;
  const bool columns_first = op.node.get_int("storage_order", 0) != 0;
  std::vector<std::int64_t> steps(axes, 1);
  for (std::size_t i = 1; i < axes; ++i) {
    const std::size_t axis = columns_first ? i : axes - 1 - i;
    const std::size_t before = columns_first ? axis - 1 : axis + 1;
    steps[axis] = steps[before] * dims[before + 2];
  }
  return steps;
}

template <typename T>
std::unique_ptr<Operator> make_plain_max(const OpContext& op,
                                         PoolExtent extent = PoolExtent::kWindow) {
  const Shape& x = op.input(0).shape;
  const WindowLoop loop(x, op.input_layout(0), pool_window(op, extent), op.output_layout(0));
  const std::int64_t plane_elements = x.elements() / (x[0] * x[1]);
  return make_operator([loop, plane_elements, steps = index_steps(op)](const Operands& o) {
    const T* in = o.in<T>(0);
    loop.run(o.threads(), [&](std::int64_t plane, std::int64_t to, const auto& visit) {
      T best = std::numeric_limits<T>::lowest();
      std::int64_t place = -1;
      visit([&](const WindowLoop::Tap& tap) {
        if (place >= 0 && !(in[tap.offset] > best)) return;
        best = in[tap.offset];
        place = 0;
        for (std::size_t i = 0; i < steps.size(); ++i) place += tap.place[i] * steps[i];
      });
      o.out<T>(0)[to] = best;
      if (o.has_output(1)) o.out<std::int64_t>(1)[to] = plane * plane_elements + place;
    });
  });
}

// Averages windows so large that a call of oneDNN could not be stopped in time.
std::unique_ptr<Operator> make_plain_average(const OpContext& op, const onednn::PoolSpec& spec) {
  const WindowLoop loop(spec.source, op.input_layout(0), spec.window, op.output_layout(0));
  double elements = 1;
  for (const std::int64_t extent : spec.window.kernel) elements *= static_cast<double>(extent);
  const bool padding_counts = spec.kind == onednn::PoolKind::kAverageIncludingPadding;
  return make_operator([=](const Operands& o) {
    const float* in = o.in<float>(0);
    float* out = o.out<float>(0);
    loop.run(o.threads(), [&](std::int64_t, std::int64_t to, const auto& visit) {
      double sum = 0;
      std::int64_t inside = 0;
      visit([&](const WindowLoop::Tap& tap) {
        sum += static_cast<double>(in[tap.offset]);
        ++inside;
      });
      out[to] = static_cast<float>(sum / (padding_counts ? elements : static_cast<double>(inside)));
    });
  });
}

template <PoolExtent extent, onednn::PoolKind kind>
std::unique_ptr<Operator> make_pool(const OpContext& op) {
  onednn::PoolSpec spec;
  spec.source = op.input(0).shape;
  spec.window = pool_window(op, extent);
  spec.destination = pooled_shape(spec.source, spec.window);
  spec.kind = kind;
  if (kind == onednn::PoolKind::kAverageExcludingPadding && extent == PoolExtent::kWindow &&
      op.node.get_int("count_include_pad", 0) != 0) {
    spec.kind = onednn::PoolKind::kAverageIncludingPadding;
  }
  spec.layout = op.input_layout(0);
  if (!onednn::Pooling::takes(spec, op.threads)) {
    if (kind == onednn::PoolKind::kMax) return make_plain_max<float>(op, extent);
    return make_plain_average(op, spec);
  }
  return std::make_unique<FloatPool>(spec, op.threads);
}

// Whether the integer kernel can run the node: channels-last u8 images, without the output of
// indices.
bool is_byte_image(const OpContext& op) {
  const ValueInfo& x = op.input(0);
  return x.dtype == DType::kUInt8 && x.shape.rank() == 4 && x.shape.elements() > 0 &&
         !op.node.has_output(1) && op.input_layout(0) == Layout::kChannelsLast &&
         op.output_layout(0) == Layout::kChannelsLast;
}

std::unique_ptr<Operator> make_max_pool(const OpContext& op) {
  if (is_byte_image(op)) return make_byte_max_pool(op, pool_window(op, PoolExtent::kWindow));
  if (op.input(0).dtype != DType::kFloat32) {
    return make_for_type(PooledTypes{}, op.input(0).dtype,
                         [&](auto element) { return make_plain_max<decltype(element)>(op); });
  }
  if (op.node.has_output(1)) return make_plain_max<float>(op);
  return make_pool<PoolExtent::kWindow, onednn::PoolKind::kMax>(op);
}

}  // namespace

OpDef op_MaxPool() { return {infer_max_pool, make_max_pool, LayoutRule::kChannelsLast}; }
OpDef op_AveragePool() {
  return {infer_pool<PoolExtent::kWindow>,
          make_pool<PoolExtent::kWindow, onednn::PoolKind::kAverageExcludingPadding>,
          LayoutRule::kChannelsLast};
}
OpDef op_GlobalMaxPool() {
  return {infer_pool<PoolExtent::kGlobal>, make_pool<PoolExtent::kGlobal, onednn::PoolKind::kMax>,
          LayoutRule::kChannelsLast};
}
OpDef op_GlobalAveragePool() {
  return {infer_pool<PoolExtent::kGlobal>,
          make_pool<PoolExtent::kGlobal, onednn::PoolKind::kAverageExcludingPadding>,
          LayoutRule::kChannelsLast};
}

}  // namespace qtool
