// Einsum as a chain of products of two tensors. Products of floats that are matrix products, apart
// from the order of their axes, run on oneDNN. All others run as loops over the output.
#include <algorithm>
#include <map>
#include <optional>

#include "base/round_up.h"
#include "ops/einsum_equation.h"
#include "ops/elementwise.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"

namespace qtool {
namespace {

using Labels = EinsumEquation::Labels;
using ProductTypes = TypeList<float, double, std::int32_t, std::int64_t>;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// One tensor of a product: its axes by label, in the order of memory.
struct Factor {
  Labels labels;
  std::map<int, std::int64_t> steps;  // by label; 0 where the tensor broadcasts

  [[nodiscard]] std::vector<std::int64_t> steps_of(const Labels& along) const {
    std::vector<std::int64_t> list;
    for (const int label : along) {
      const auto found = steps.find(label);
      list.push_back(found == steps.end() ? 0 : found->second);
    }
    return list;
  }
};

Factor factor_of(const Shape& shape, const Labels& labels) {
  Factor factor;
  const std::vector<std::int64_t> strides = strides_of(shape, Layout::kPlain);
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    if (!contains(factor.labels, labels[axis])) factor.labels.push_back(labels[axis]);
    const bool repeats = shape[static_cast<std::int64_t>(axis)] == 1;
    factor.steps[labels[axis]] += repeats ? 0 : strides[axis];
  }
  return factor;
}

// The labels of a product by their role in a stack of matrix products.
struct Parts {
  Labels batch, rows, columns, depth;
  bool is_matrix_product = true;
};

Parts parts_of(const Factor& a, const Factor& b, const Labels& output) {
  Parts parts;
  for (const int label : a.labels) {
    const bool kept = contains(output, label);
    if (contains(b.labels, label)) {
      (kept ? parts.batch : parts.depth).push_back(label);
    } else {
      parts.rows.push_back(label);
      parts.is_matrix_product = parts.is_matrix_product && kept;
    }
  }
  for (const int label : b.labels) {
    if (contains(a.labels, label)) continue;
    parts.columns.push_back(label);
    parts.is_matrix_product = parts.is_matrix_product && contains(output, label);
  }
  parts.is_matrix_product = parts.is_matrix_product && !parts.depth.empty();
  return parts;
}

Labels joined(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// c = the sum of a b over all labels that c lacks.
class PairProduct {
 public:
  virtual ~PairProduct() = default;
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  virtual void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                   int threads) const = 0;
};

template <typename T>
class LoopedProduct final : public PairProduct {
 public:
  LoopedProduct(const Shape& output, const Labels& labels, const Factor& a, const Factor& b,
                const Shape& summed, const Labels& summed_labels)
      : kept_(output.dims(),
              {strides_of(output, Layout::kPlain), a.steps_of(labels), b.steps_of(labels)}),
        summed_(summed.dims(), {a.steps_of(summed_labels), b.steps_of(summed_labels)}) {}

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* /*workspace*/,
           int threads) const override {
    const auto* left = reinterpret_cast<const T*>(a);
    const auto* right = reinterpret_cast<const T*>(b);
    auto* out = reinterpret_cast<T*>(c);
    kept_.run(threads, [&](std::int64_t count, const LoopNest<3>::Offsets& at) {
      for (std::int64_t i = 0; i < count; ++i) {
        out[at[0] + i * kept_.inner_step(0)] =
            sum(left + at[1] + i * kept_.inner_step(1), right + at[2] + i * kept_.inner_step(2));
      }
    });
  }

 private:
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

  T sum(const T* a, const T* b) const {
    Sum sum{0};
    summed_.run_range(0, summed_.total(), [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto x = static_cast<Sum>(a[at[0] + i * summed_.inner_step(0)]);
        const auto y = static_cast<Sum>(b[at[1] + i * summed_.inner_step(1)]);
        sum = wrap_add(sum, wrap_mul(x, y));
      }
    });
    return static_cast<T>(sum);
  }

  LoopNest<3> kept_;    // output, a, b
  LoopNest<2> summed_;  // a, b
};

// Brings both factors into the order of a stack of matrices, multiplies, and brings the result into
// the order of the output.
class MatrixProduct final : public PairProduct {
 public:
  MatrixProduct(const OpContext& op, const EinsumEquation& equation, const Parts& parts,
                const Factor& a, const Factor& b, const Labels& output)
      : a_(packing(op, equation, a, joined(parts.batch, parts.rows, parts.depth))),
        b_(packing(op, equation, b, joined(parts.batch, parts.depth, parts.columns))),
        c_(packing(op, equation, factor_of(equation.shape_of_labels(op, output), output),
                   joined(parts.batch, parts.rows, parts.columns))) {
    const auto extent = [&](const Labels& labels) {
      return equation.shape_of_labels(op, labels).elements();
    };
    onednn::MatmulSpec spec;
    spec.a = Shape{extent(parts.batch), extent(parts.rows), extent(parts.depth)};
    spec.b = Shape{extent(parts.batch), extent(parts.depth), extent(parts.columns)};
    spec.destination = Shape{extent(parts.batch), extent(parts.rows), extent(parts.columns)};
    matmul_ = std::make_unique<onednn::Matmul>(spec, op.threads);
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return align_up(a_.bytes) + align_up(b_.bytes) + align_up(c_.bytes) +
           matmul_->workspace_bytes();
  }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
           int threads) const override {
    std::byte* left = workspace;
    std::byte* right = left + align_up(a_.bytes);
    std::byte* result = right + align_up(b_.bytes);
    std::byte* rest = result + align_up(c_.bytes);
    copy_strided(a_.nest, sizeof(float), left, a, threads);
    copy_strided(b_.nest, sizeof(float), right, b, threads);
    const onednn::PackedPtr packed = matmul_->pack(reinterpret_cast<const float*>(right), nullptr);
    matmul_->run(reinterpret_cast<const float*>(left), *packed, reinterpret_cast<float*>(result),
                 rest);
    copy_strided(c_.back, sizeof(float), c, result, threads);
  }

 private:
  struct Packing {
    LoopNest<2> nest;  // copies from the tensor to the packed order
    LoopNest<2> back;  // copies from the packed order to the tensor
    std::int64_t bytes;
  };
  static Packing packing(const OpContext& op, const EinsumEquation& equation, const Factor& factor,
                         const Labels& order) {
    const Shape shape = equation.shape_of_labels(op, order);
    const std::vector<std::int64_t> dense = strides_of(shape, Layout::kPlain);
    const std::vector<std::int64_t> own = factor.steps_of(order);
    return {LoopNest<2>(shape.dims(), {dense, own}), LoopNest<2>(shape.dims(), {own, dense}),
            shape.elements() * static_cast<std::int64_t>(sizeof(float))};
  }

  Packing a_;
  Packing b_;
  Packing c_;
  std::unique_ptr<onednn::Matmul> matmul_;
};

template <typename T>
std::unique_ptr<PairProduct> make_product(const OpContext& op, const EinsumEquation& equation,
                                          const Factor& a, const Factor& b, const Labels& output) {
  const Parts parts = parts_of(a, b, output);
  Labels summed;
  bool empty = false;
  for (const int label : joined(a.labels, parts.columns, {})) {
    if (!contains(output, label)) summed.push_back(label);
    empty = empty || equation.extents.at(label) == 0;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (parts.is_matrix_product && !empty) {
      return std::make_unique<MatrixProduct>(op, equation, parts, a, b, output);
    }
  }
  return std::make_unique<LoopedProduct<T>>(equation.shape_of_labels(op, output), output, a, b,
                                            equation.shape_of_labels(op, summed), summed);
}

// Computes ((in0 in1) in2) ... A single input is multiplied by 1.
class EinsumOperator final : public Operator {
 public:
  template <typename T>
  static std::unique_ptr<Operator> make(const OpContext& op) {
    auto made = std::make_unique<EinsumOperator>();
    const EinsumEquation equation = read_equation(op);
    Factor left = factor_of(op.input(0).shape, equation.inputs[0]);
    const std::size_t products = std::max<std::size_t>(1, op.input_count() - 1);
    for (std::size_t i = 0; i < products; ++i) {
      const bool single = op.input_count() == 1;
      const Factor right =
          single ? Factor{} : factor_of(op.input(i + 1).shape, equation.inputs[i + 1]);
      Labels output = equation.output;
      if (i + 1 < products) {
        output.clear();
        for (const int label : joined(left.labels, right.labels, {})) {
          if (!contains(output, label) && is_needed(equation, label, i + 2))
            output.push_back(label);
        }
      }
      made->products_.push_back(make_product<T>(op, equation, left, right, output));
      const Shape shape = equation.shape_of_labels(op, output);
      left = factor_of(shape, output);
      made->largest_ = std::max(made->largest_, made->products_.back()->workspace_bytes());
      if (i + 1 < products) {
        made->between_ = std::max(made->between_, shape.elements() * size_of(op.input(0).dtype));
      }
    }
    const Tensor one = Tensor::scalar(T{1});
    made->one_.assign(one.data(), one.data() + one.bytes());
    return made;
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return 2 * align_up(between_) + largest_;
  }

  void run(const Operands& o) const override {
    const std::byte* left = o.in<std::byte>(0);
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const bool last = i + 1 == products_.size();
      std::byte* out =
          last ? o.out<std::byte>(0) : o.workspace() + (i % 2 == 0 ? 0 : align_up(between_));
      const std::byte* right = o.input_count() == 1 ? one_.data() : o.in<std::byte>(i + 1);
      products_[i]->run(left, right, out, o.workspace() + 2 * align_up(between_), o.threads());
      left = out;
    }
  }

 private:
  // Whether the output or an input from `next` on has the label.
  static bool is_needed(const EinsumEquation& equation, int label, std::size_t next) {
    bool needed = contains(equation.output, label);
    for (std::size_t i = next; i < equation.inputs.size(); ++i) {
      needed = needed || contains(equation.inputs[i], label);
    }
    return needed;
  }

  std::vector<std::unique_ptr<PairProduct>> products_;
  std::vector<std::byte> one_;
  std::int64_t largest_ = 0;  // the largest workspace of a product
  std::int64_t between_ = 0;  // bytes of the largest intermediate result
};

std::vector<ValueInfo> infer_einsum(const OpContext& op) {
  op.require(op.input_count() > 0, "found no inputs, expected at least one");
  require_type(op, 0, ProductTypes{});
  for (std::size_t i = 1; i < op.input_count(); ++i) require_same_type(op, 0, i);
  const EinsumEquation equation = read_equation(op);
  return {{op.input(0).dtype, equation.shape_of_labels(op, equation.output)}};
}

}  // namespace

OpDef op_Einsum() {
  return {infer_einsum, [](const OpContext& op) {
            return make_for_type(ProductTypes{}, op.input(0).dtype, [&](auto element) {
              return EinsumOperator::make<decltype(element)>(op);
            });
          }};
}

}  // namespace qtool
