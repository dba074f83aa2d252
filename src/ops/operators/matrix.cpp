// Operators on matrices: Det and Trilu, for matrices in the last two axes, and EyeLike.
#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "graph/onnx/dtype.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"
#include "tensor/convert.h"

namespace qtool {
namespace {

struct MatrixStack {
  std::int64_t count = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

MatrixStack matrices_of(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  op.require(shape.rank() >= 2,
             to_text("the input has shape ", shape.to_string(), ", expected matrices"));
  MatrixStack matrices{0, shape[shape.rank() - 2], shape[shape.rank() - 1]};
  if (shape.elements() > 0) matrices.count = shape.elements() / (matrices.rows * matrices.columns);
  return matrices;
}

std::vector<ValueInfo> infer_det(const OpContext& op) {
  require_type(op, 0, FloatingTypes{});
  const MatrixStack matrices = matrices_of(op);
  op.require(matrices.rows == matrices.columns,
             to_text("the input has shape ", op.input(0).shape.to_string(), ", expected squares"));
  const std::vector<std::int64_t>& dims = op.input(0).shape.dims();
  return {{op.input(0).dtype, Shape({dims.begin(), dims.end() - 2})}};
}

// The determinant of `m` [n, n] by Gaussian elimination with partial pivoting. Overwrites `m`.
double determinant(double* m, std::int64_t n) {
  double product = 1;
  StopPace pace;
  for (std::int64_t k = 0; k < n; ++k) {
    pace.step(n - k);
    std::int64_t pivot = k;
    for (std::int64_t row = k + 1; row < n; ++row) {
      if (std::abs(m[row * n + k]) > std::abs(m[pivot * n + k])) pivot = row;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m + pivot * n, m + pivot * n + n, m + k * n);
      product = -product;
    }
    product *= m[k * n + k];
    for (std::int64_t row = k + 1; row < n; ++row) {
      pace.step(n - k);
      const double factor = m[row * n + k] / m[k * n + k];
      for (std::int64_t c = k; c < n; ++c) m[row * n + c] -= factor * m[k * n + c];
    }
  }
  return product;
}

template <typename T>
class DetOperator final : public Operator {
 public:
  DetOperator(const MatrixStack& matrices, std::int64_t results)
      : matrices_(matrices), results_(results) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return matrices_.rows * matrices_.rows * static_cast<std::int64_t>(sizeof(double));
  }
  void run(const Operands& o) const override {
    auto* work = reinterpret_cast<double*>(o.workspace());
    const std::int64_t elements = matrices_.rows * matrices_.rows;
    StopPace pace;
    for (std::int64_t i = 0; i < results_; ++i) {
      const T* in = o.in<T>(0) + i * elements;
      pace.step(elements);
      std::transform(in, in + elements, work, [](T x) { return static_cast<double>(x); });
      o.out<T>(0)[i] = static_cast<T>(determinant(work, matrices_.rows));
    }
  }

 private:
  MatrixStack matrices_;
  std::int64_t results_;
};

std::unique_ptr<Operator> make_det(const OpContext& op) {
  return make_for_type(FloatingTypes{}, op.input(0).dtype,
                       [&](auto element) -> std::unique_ptr<Operator> {
                         return std::make_unique<DetOperator<decltype(element)>>(
                             matrices_of(op), op.output(0).shape.elements());
                       });
}

std::vector<ValueInfo> infer_trilu(const OpContext& op) {
  static_cast<void>(matrices_of(op));
  if (op.has_input(1)) {
    require_dtype_in(op, 1, {DType::kInt64});
    require_single(op, 1, "the diagonal");
  }
  return {op.input(0)};
}

std::unique_ptr<Operator> make_trilu(const OpContext& op) {
  const MatrixStack m = matrices_of(op);
  const bool upper = op.node.get_int("upper", 1) != 0;
  const std::int64_t size = size_of(op.input(0).dtype);
  return make_operator([=](const Operands& o) {
    const std::int64_t wanted = o.has_input(1) ? *o.in<std::int64_t>(1) : 0;
    const std::int64_t k = std::clamp(wanted, -m.rows, m.columns);
    const std::byte* in = o.in<std::byte>(0);
    std::byte* out = o.out<std::byte>(0);
    StopPace pace;
    for (std::int64_t row = 0; row < m.count * m.rows; ++row) {
      pace.step(1 + m.columns * size);
      // Columns [begin, end) of the row are kept.
      const std::int64_t diagonal = row % m.rows + k;
      const std::int64_t begin = upper ? std::clamp<std::int64_t>(diagonal, 0, m.columns) : 0;
      const std::int64_t end =
          upper ? m.columns : std::clamp<std::int64_t>(diagonal + 1, 0, m.columns);
      const auto place = [&](std::int64_t column) { return (row * m.columns + column) * size; };
      fill_elements(out + place(0), begin * size, std::byte{0});
      copy_bytes(out + place(begin), in + place(begin), (end - begin) * size);
      fill_elements(out + place(end), (m.columns - end) * size, std::byte{0});
    }
  });
}

std::vector<ValueInfo> infer_eye(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  op.require(in.shape.rank() == 2,
             to_text("the input has shape ", in.shape.to_string(), ", expected a matrix"));
  std::optional<DType> dtype = in.dtype;
  if (op.node.has("dtype")) dtype = dtype_of_onnx(op.node.get_int("dtype", 0));
  if (!dtype || !with_cast_type(*dtype, [](auto) {})) {
    op.fail(ErrorCode::kUnsupported, "found an element type that is not supported");
  }
  return {{*dtype, in.shape}};
}

std::unique_ptr<Operator> make_eye(const OpContext& op) {
  const MatrixStack m = matrices_of(op);
  const std::int64_t k = std::clamp(op.node.get_int("k", 0), -m.rows, m.columns);
  std::unique_ptr<Operator> made;
  with_cast_type(op.output(0).dtype, [&](auto element) {
    using T = decltype(element);
    made = make_operator([m, k](const Operands& o) {
      T* out = o.out<T>(0);
      fill_elements(out, m.rows * m.columns, convert<T>(0));
      StopPace pace;
      for (std::int64_t row = 0; row < m.rows; ++row) {
        pace.step();
        const std::int64_t column = row + k;
        if (column >= 0 && column < m.columns) out[row * m.columns + column] = convert<T>(1);
      }
    });
  });
  return made;
}

}  // namespace

OpDef op_Det() { return {infer_det, make_det}; }
OpDef op_EyeLike() { return {infer_eye, make_eye}; }
OpDef op_Trilu() { return {infer_trilu, make_trilu}; }

}  // namespace qtool
