// Normalizations over axes that the node names: LpNormalization, MeanVarianceNormalization.
#include <algorithm>
#include <cmath>

#include "ops/columns.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

std::vector<ValueInfo> infer_lp(const OpContext& op) {
  require_type(op, 0, FloatingTypes{});
  const std::int64_t p = op.node.get_int("p", 2);
  op.require(p == 1 || p == 2, to_text("attribute 'p' is ", p, ", expected 1 or 2"));
  static_cast<void>(axis_of(op, op.node.get_int("axis", -1), op.input(0).shape.rank()));
  return {op.input(0)};
}

std::unique_ptr<Operator> make_lp(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const Columns columns = columns_of(shape, axis_of(op, op.node.get_int("axis", -1), shape.rank()));
  const bool squares = op.node.get_int("p", 2) == 2;
  return make_for_type(FloatingTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    return make_operator([columns, squares](const Operands& o) {
      for_columns(columns, o.threads(), [&](std::int64_t at) {
        const T* in = o.in<T>(0) + at;
        T* out = o.out<T>(0) + at;
        double sum = 0;
        in_pieces(columns.extent, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const auto x = static_cast<double>(in[i * columns.inner]);
            sum += squares ? x * x : std::abs(x);
          }
        });
        const double norm = squares ? std::sqrt(sum) : sum;
        in_pieces(columns.extent, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const auto x = static_cast<double>(in[i * columns.inner]);
            out[i * columns.inner] = norm == 0 ? T{0} : static_cast<T>(x / norm);
          }
        });
      });
    });
  });
}

std::vector<std::int64_t> normalized_axes(const OpContext& op) {
  return axes_of(op, op.node.get_ints("axes", {0, 2, 3}), op.input(0).shape.rank());
}

std::vector<ValueInfo> infer_mean_variance(const OpContext& op) {
  require_type(op, 0, FloatType{});
  static_cast<void>(normalized_axes(op));
  return {op.input(0)};
}

// (x - mean) / (standard deviation + 1e-9), the definition of ONNX.
std::unique_ptr<Operator> make_mean_variance(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const std::vector<std::int64_t> axes = normalized_axes(op);
  const std::vector<std::int64_t> strides = strides_of(shape, op.input_layout(0));
  std::array<std::vector<std::int64_t>, 2> extents;  // kept axes, normalized axes
  std::array<std::vector<std::int64_t>, 2> steps;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const std::size_t part = std::binary_search(axes.begin(), axes.end(), axis) ? 1 : 0;
    extents[part].push_back(shape[axis]);
    steps[part].push_back(strides[static_cast<std::size_t>(axis)]);
  }
  const LoopNest<1> kept(extents[0], {steps[0]});
  const LoopNest<1> group(extents[1], {steps[1]});
  return make_operator([kept, group](const Operands& o) {
    if (group.total() == 0) return;
    const auto for_group = [&](std::int64_t at, const auto& use) {
      group.run_range(0, group.total(), [&](std::int64_t count, const LoopNest<1>::Offsets& inner) {
        for (std::int64_t i = 0; i < count; ++i) use(at + inner[0] + i * group.inner_step(0));
      });
    };
    kept.run(o.threads(), [&](std::int64_t outputs, const LoopNest<1>::Offsets& outer) {
      for (std::int64_t k = 0; k < outputs; ++k) {
        const std::int64_t at = outer[0] + k * kept.inner_step(0);
        const float* x = o.in<float>(0);
        float* y = o.out<float>(0);
        const auto elements = static_cast<double>(group.total());
        double sum = 0;
        for_group(at, [&](std::int64_t i) { sum += static_cast<double>(x[i]); });
        const double mean = sum / elements;
        double squares = 0;
        for_group(at, [&](std::int64_t i) {
          const double distance = static_cast<double>(x[i]) - mean;
          squares += distance * distance;
        });
        const double factor = 1 / (std::sqrt(squares / elements) + 1e-9);
        for_group(at, [&](std::int64_t i) {
          y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
        });
      }
    });
  });
}

}  // namespace

OpDef op_LpNormalization() { return {infer_lp, make_lp}; }
OpDef op_MeanVarianceNormalization() {
  return {infer_mean_variance, make_mean_variance, LayoutRule::kAny};
}

}  // namespace qtool
