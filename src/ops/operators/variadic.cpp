#include <functional>
#include <utility>

#include "ops/elementwise.h"
#include "ops/operator.h"
#include "ops/rows.h"

// Operators over any number of tensors: the first two are combined, then each further one is
// combined into the result in place.
namespace qtool {
namespace {

std::vector<ValueInfo> infer_all(const OpContext& op) {
  op.require(op.input_count() > 0, "found no inputs, expected at least one");
  require_type(op, 0, NumberTypes{});
  Shape shape = op.input(0).shape;
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    require_same_type(op, 0, i);
    shape = broadcast(op, shape, op.input(i).shape);
  }
  return {{op.input(0).dtype, shape}};
}

// out = combine(a, b) for all elements of a nest, whatever their type.
using CombineInputs =
    std::function<void(const LoopNest<3>&, const void* a, const void* b, void* out, int threads)>;

template <typename T, typename F>
CombineInputs combine_inputs_by(F f) {
  return [f](const LoopNest<3>& nest, const void* a, const void* b, void* out, int threads) {
    run_binary(nest, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out),
               threads, f);
  };
}

std::unique_ptr<Operator> make_fold(const OpContext& op, CombineInputs combine) {
  if (op.input_count() == 1) return make_strided_copy(op, nest_from_input(op, 0));
  const Shape& shape = op.output(0).shape;
  const std::vector<std::int64_t> own = strides_of(shape, op.output_layout(0));
  std::vector<LoopNest<3>> nests = {nest_of_pair(op, 0, 1)};
  for (std::size_t i = 2; i < op.input_count(); ++i) {
    nests.push_back({shape.dims(),
                     {own, own, broadcast_strides(op.input(i).shape, op.input_layout(i), shape)}});
  }
  return make_operator([nests = std::move(nests), combine = std::move(combine)](const Operands& o) {
    void* out = o.out<void>(0);
    combine(nests[0], o.in<void>(0), o.in<void>(1), out, o.threads());
    for (std::size_t i = 1; i < nests.size(); ++i) {
      combine(nests[i], out, o.in<void>(i + 1), out, o.threads());
    }
  });
}

template <typename F>
OpDef fold_row(F /*f*/) {
  return {infer_all,
          [](const OpContext& op) {
            return make_for_type(NumberTypes{}, op.input(0).dtype, [&](auto element) {
              return make_fold(op, combine_inputs_by<decltype(element)>(F{}));
            });
          },
          LayoutRule::kAny};
}

// Runs the operator `sum` and divides its output by the number of inputs.
class MeanOperator final : public Operator {
 public:
  MeanOperator(std::unique_ptr<Operator> sum, std::int64_t elements, std::size_t inputs)
      : sum_(std::move(sum)), elements_(elements), inputs_(static_cast<float>(inputs)) {}

  void run(const Operands& o) const override {
    sum_->run(o);
    float* out = o.out<float>(0);
    in_pieces(elements_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] /= inputs_;
    });
  }

 private:
  std::unique_ptr<Operator> sum_;
  std::int64_t elements_;
  float inputs_;
};

}  // namespace

OpDef op_Sum() {
  return fold_row([](auto a, auto b) { return wrap_add(a, b); });
}

OpDef op_Max() {
  return fold_row([](auto a, auto b) { return larger(a, b); });
}
OpDef op_Min() {
  return fold_row([](auto a, auto b) { return smaller(a, b); });
}

OpDef op_Mean() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            return infer_all(op);
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<MeanOperator>(
                make_fold(op, combine_inputs_by<float>([](float a, float b) { return a + b; })),
                op.output(0).shape.elements(), op.input_count());
          },
          LayoutRule::kAny};
}

}  // namespace qtool
