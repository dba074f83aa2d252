#include "ops/elementwise.h"
#include "ops/operator.h"

// Comparisons, logic, and the choice between two tensors.
namespace qtool {
namespace {

std::uint8_t truth(bool value) { return static_cast<std::uint8_t>(value ? 1 : 0); }

// Booleans compare as bytes of 0 or 1.
bool is_bool(const OpContext& op) { return op.input(0).dtype == DType::kBool; }

template <typename F>
std::unique_ptr<Operator> make_logic(const OpContext& op, F f) {
  return make_binary<std::uint8_t, std::uint8_t, std::uint8_t>(
      op, [f](std::uint8_t a, std::uint8_t b) { return truth(f(a != 0, b != 0)); });
}

template <typename F>
OpDef compare_row(F /*f*/) {
  return {[](const OpContext& op) {
            if (!is_bool(op)) require_type(op, 0, NumberTypes{});
            require_same_type(op, 0, 1);
            return std::vector<ValueInfo>{
                {DType::kBool, broadcast(op, op.input(0).shape, op.input(1).shape)}};
          },
          [](const OpContext& op) {
            if (is_bool(op)) return make_logic(op, F{});
            return make_for_type(NumberTypes{}, op.input(0).dtype, [&](auto element) {
              using T = decltype(element);
              return make_binary<T, T, std::uint8_t>(op, [](T a, T b) { return truth(F{}(a, b)); });
            });
          },
          LayoutRule::kAny};
}

template <typename F>
OpDef logic_row(F /*f*/) {
  return {[](const OpContext& op) {
            require_dtype_in(op, 0, {DType::kBool});
            require_same_type(op, 0, 1);
            return std::vector<ValueInfo>{
                {DType::kBool, broadcast(op, op.input(0).shape, op.input(1).shape)}};
          },
          [](const OpContext& op) { return make_logic(op, F{}); }, LayoutRule::kAny};
}

std::vector<ValueInfo> infer_where(const OpContext& op) {
  require_dtype_in(op, 0, {DType::kBool});
  require_same_type(op, 1, 2);
  const Shape both = broadcast(op, op.input(1).shape, op.input(2).shape);
  return {{op.input(1).dtype, broadcast(op, op.input(0).shape, both)}};
}

template <typename T>
void choose_elements(const LoopNest<4>& nest, const Operands& o) {
  const auto* condition = o.in<std::uint8_t>(0);
  const T* yes = o.in<T>(1);
  const T* no = o.in<T>(2);
  T* out = o.out<T>(0);
  nest.run(o.threads(), [&](std::int64_t count, const LoopNest<4>::Offsets& at) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T chosen_yes = yes[at[2] + i * nest.inner_step(2)];
      const T chosen_no = no[at[3] + i * nest.inner_step(3)];
      out[at[0] + i * nest.inner_step(0)] =
          condition[at[1] + i * nest.inner_step(1)] != 0 ? chosen_yes : chosen_no;
    }
  });
}

std::unique_ptr<Operator> make_where(const OpContext& op) {
  const Shape& shape = op.output(0).shape;
  LoopNest<4> nest(shape.dims(), {strides_of(shape, op.output_layout(0)),
                                  broadcast_strides(op.input(0).shape, op.input_layout(0), shape),
                                  broadcast_strides(op.input(1).shape, op.input_layout(1), shape),
                                  broadcast_strides(op.input(2).shape, op.input_layout(2), shape)});
  return with_element_of(size_of(op.output(0).dtype), [&](auto element) {
    return make_operator(
        [nest](const Operands& o) { choose_elements<decltype(element)>(nest, o); });
  });
}

}  // namespace

OpDef op_Equal() {
  return compare_row([](auto a, auto b) { return a == b; });
}
OpDef op_Less() {
  return compare_row([](auto a, auto b) { return a < b; });
}
OpDef op_LessOrEqual() {
  return compare_row([](auto a, auto b) { return a <= b; });
}
OpDef op_Greater() {
  return compare_row([](auto a, auto b) { return a > b; });
}
OpDef op_GreaterOrEqual() {
  return compare_row([](auto a, auto b) { return a >= b; });
}
OpDef op_And() {
  return logic_row([](bool a, bool b) { return a && b; });
}
OpDef op_Or() {
  return logic_row([](bool a, bool b) { return a || b; });
}
OpDef op_Xor() {
  return logic_row([](bool a, bool b) { return a != b; });
}
OpDef op_Not() {
  return {[](const OpContext& op) {
            require_dtype_in(op, 0, {DType::kBool});
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) {
            return make_unary<std::uint8_t, std::uint8_t>(
                op, [](std::uint8_t x) { return static_cast<std::uint8_t>(x == 0 ? 1 : 0); });
          },
          LayoutRule::kAny};
}

OpDef op_Where() { return {infer_where, make_where, LayoutRule::kAny}; }

}  // namespace qtool
