// Matrix products in FP32, through oneDNN: MatMul, Gemm, and FusedGemm with a clamp behind it.
#include <algorithm>

#include "base/stop.h"
#include "base/text.h"
#include "ops/float_weights.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"
#include "ops/rows.h"

namespace qtool {
namespace {

std::vector<std::int64_t> dims_from(const Shape& shape, std::int64_t begin, std::int64_t end) {
  return {shape.dims().begin() + begin, shape.dims().begin() + end};
}

struct Product {
  onednn::MatmulSpec spec;
  Shape output;  // ONNX's shape; spec.destination has the same elements
};

// MatMul with NumPy's rules: 1-D operands get an axis that the result does not have.
Product matmul_product(const OpContext& op) {
  Shape a = op.input(0).shape;
  Shape b = op.input(1).shape;
  op.require(op.input(0).dtype == DType::kFloat32 && op.input(1).dtype == DType::kFloat32,
             "operands must be float32");
  op.require(a.rank() >= 1 && b.rank() >= 1, "operands must have at least one axis");
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (row) a = Shape{1, a[0]};
  if (column) b = Shape{b[0], 1};
  const std::int64_t rank = std::max(a.rank(), b.rank());
  op.require(rank <= 6, to_text("operands have rank ", rank, ", at most 6 is supported"));
  const std::int64_t k = a[a.rank() - 1];
  op.require(k == b[b.rank() - 2],
             to_text("cannot multiply ", a.to_string(), " by ", b.to_string()));
  Product product;
  // A stack of matrices times one matrix is computed as one tall matrix times that matrix.
  if (b.rank() == 2 && a.rank() > 2) {
    std::vector<std::int64_t> out = dims_from(a, 0, a.rank() - 1);
    if (!column) out.push_back(b[1]);
    product.output = Shape(std::move(out));
    op.require(k > 0, "operands are empty");
    product.spec.a = Shape{a.elements() / k, k};
    product.spec.b = b;
    product.spec.destination = Shape{a.elements() / k, b[1]};
    return product;
  }
  const auto widen = [&](const Shape& shape) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(rank - shape.rank()), 1);
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    return Shape(std::move(dims));
  };
  product.spec.a = widen(a);
  product.spec.b = widen(b);
  std::vector<std::int64_t> full;
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) {
    const std::int64_t x = product.spec.a[axis];
    const std::int64_t y = product.spec.b[axis];
    op.require(x == y || x == 1 || y == 1,
               to_text("cannot multiply ", a.to_string(), " by ", b.to_string()));
    full.push_back(x == 1 ? y : x);
  }
  std::vector<std::int64_t> out = full;
  if (!row) out.push_back(a[a.rank() - 2]);
  if (!column) out.push_back(b[b.rank() - 1]);
  full.push_back(a[a.rank() - 2]);
  full.push_back(b[b.rank() - 1]);
  product.spec.destination = Shape(std::move(full));
  product.output = Shape(std::move(out));
  return product;
}

// How a Gemm adds its C. kPerColumn: C is constant and has one value per column, B is constant too,
// and alpha and beta are 1; C is then packed as the bias. kGeneral: C is added after the product.
enum class Addend : std::uint8_t { kNone, kPerColumn, kGeneral };

Product gemm_product(const OpContext& op, Addend& addend) {
  const Shape& a = op.input(0).shape;
  const Shape& b = op.input(1).shape;
  op.require(op.input(0).dtype == DType::kFloat32 && op.input(1).dtype == DType::kFloat32,
             "operands must be float32");
  op.require(a.rank() == 2 && b.rank() == 2,
             to_text("found ", a.to_string(), " and ", b.to_string(), ", expected two matrices"));
  Product product;
  product.spec.transposed_a = op.node.get_int("transA", 0) != 0;
  product.spec.transposed_b = op.node.get_int("transB", 0) != 0;
  const auto logical = [](const Shape& shape, bool transposed) {
    return transposed ? Shape{shape[1], shape[0]} : shape;
  };
  product.spec.a = logical(a, product.spec.transposed_a);
  product.spec.b = logical(b, product.spec.transposed_b);
  op.require(
      product.spec.a[1] == product.spec.b[0],
      to_text("cannot multiply ", product.spec.a.to_string(), " by ", product.spec.b.to_string()));
  product.spec.alpha = op.node.get_float("alpha", 1.0F);
  product.output = product.spec.destination = Shape{product.spec.a[0], product.spec.b[1]};
  addend = Addend::kNone;
  const float beta = op.node.get_float("beta", 1.0F);
  if (op.has_input(2) && beta != 0.0F) {
    const Shape& c = op.input(2).shape;
    op.require(op.input(2).dtype == DType::kFloat32, "C must be float32");
    op.require(c.rank() <= 2, to_text("C has rank ", c.rank(), ", at most 2 is allowed"));
    for (std::int64_t axis = 0; axis < c.rank(); ++axis) {
      const std::int64_t extent = product.output[axis + 2 - c.rank()];
      op.require(
          c[axis] == 1 || c[axis] == extent,
          to_text("C ", c.to_string(), " does not broadcast to ", product.output.to_string()));
    }
    const bool per_column = c.elements() == product.output[1] &&
                            (c.rank() == 1 || (c.rank() == 2 && c[0] == 1)) &&
                            op.constant(2) != nullptr && beta == 1.0F &&
                            product.spec.alpha == 1.0F && op.constant(1) != nullptr;
    addend = per_column ? Addend::kPerColumn : Addend::kGeneral;
    product.spec.bias = per_column;
  }
  product.spec.clamp = op.fused_clamp();
  return product;
}

class FloatProduct final : public Operator {
 public:
  FloatProduct(const OpContext& op, const Product& product, Addend addend)
      : addend_(addend), beta_(op.node.get_float("beta", 1.0F)), output_(product.output) {
    const Shape& out = product.spec.destination;
    const std::int64_t k = product.spec.a[product.spec.a.rank() - 1];
    macs_ = out.elements() * k;
    if (out.elements() == 0 || k == 0) return;  // nothing to multiply: the result is zeros
    // With a general addend the clamp must come after the sum, so add() applies it.
    onednn::MatmulSpec spec = product.spec;
    if (addend == Addend::kGeneral) {
      clamp_ = spec.clamp;
      spec.clamp.reset();
    }
    matmul_ = std::make_unique<onednn::Matmul>(spec, op.threads);
    weights_ = packed_constants(op, "matmul", *matmul_, spec.bias);
  }

  void run(const Operands& o) const override {
    float* out = o.out<float>(0);
    if (matmul_ == nullptr) {
      fill_elements(out, output_.elements(), 0.0F);
    } else {
      onednn::PackedPtr weights = weights_;
      if (!weights) weights = matmul_->pack(o.in<float>(1), nullptr);
      matmul_->run(o.in<float>(0), *weights, out, o.workspace());
    }
    if (addend_ == Addend::kGeneral) add(o, out);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return matmul_ == nullptr ? 0 : matmul_->workspace_bytes();
  }
  [[nodiscard]] std::int64_t macs() const override { return macs_; }
  [[nodiscard]] std::string kernel() const override { return "matmul"; }

 private:
  void add(const Operands& o, float* out) const {
    const Shape& c = o.input(2).shape;
    const float* addend = o.in<float>(2);
    const std::int64_t rows = output_[0];
    const std::int64_t columns = output_[1];
    const std::int64_t column_step = c.rank() >= 1 && c[c.rank() - 1] != 1 ? 1 : 0;
    const std::int64_t row_step = c.rank() == 2 && c[0] != 1 ? c[1] : 0;
    StopPace pace;
    for (std::int64_t r = 0; r < rows; ++r) {
      pace.step(columns);
      for (std::int64_t i = 0; i < columns; ++i) {
        float& y = out[r * columns + i];
        y += beta_ * addend[r * row_step + i * column_step];
        if (clamp_) y = std::min(std::max(y, clamp_->min), clamp_->max);
      }
    }
  }

  Addend addend_;
  float beta_;
  Shape output_;
  std::optional<Clamp> clamp_;
  std::unique_ptr<onednn::Matmul> matmul_;
  onednn::PackedPtr weights_;  // null when packed at each run
  std::int64_t macs_ = 0;
};

OpDef gemm_row() {
  return {[](const OpContext& op) {
            Addend addend{};
            return std::vector<ValueInfo>{{DType::kFloat32, gemm_product(op, addend).output}};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            Addend addend{};
            const Product product = gemm_product(op, addend);
            return std::make_unique<FloatProduct>(op, product, addend);
          },
          LayoutRule::kPlain};
}

}  // namespace

OpDef op_Gemm() { return gemm_row(); }
OpDef op_FusedGemm() { return gemm_row(); }

OpDef op_MatMul() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{DType::kFloat32, matmul_product(op).output}};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<FloatProduct>(op, matmul_product(op), Addend::kNone);
          },
          LayoutRule::kPlain};
}

}  // namespace qtool
