#include <cmath>
#include <limits>

#include "graph/onnx_dtype.h"
#include "ops/convert.h"
#include "ops/elementwise.h"
#include "ops/operator.h"

// Operators that change the element type, bound it or ask about it.
namespace qtool {
namespace {

std::vector<ValueInfo> infer_cast(const OpContext& op) {
  const ValueInfo& in = op.input(0);
  op.require(op.node.has("to"), "the attribute 'to' is missing");
  const std::int64_t code = op.node.get_int("to", 0);
  const std::optional<DType> to = dtype_of_onnx(code);
  const auto nothing = [](auto) {};
  if (!to || !with_cast_type(*to, nothing) || !with_cast_type(in.dtype, nothing)) {
    op.fail(ErrorCode::kUnsupported, concat("cannot cast from ", name_of(in.dtype),
                                            " to the element type with number ", code));
  }
  return {{*to, in.shape}};
}

// CastLike: the type of input 1.
std::vector<ValueInfo> infer_cast_like(const OpContext& op) {
  const auto nothing = [](auto) {};
  const DType to = op.input(1).dtype;
  if (!with_cast_type(to, nothing) || !with_cast_type(op.input(0).dtype, nothing)) {
    op.fail(ErrorCode::kUnsupported,
            concat("cannot cast from ", name_of(op.input(0).dtype), " to ", name_of(to)));
  }
  return {{to, op.input(0).shape}};
}

std::unique_ptr<Operator> make_cast(const OpContext& op) {
  std::unique_ptr<Operator> made;
  with_cast_type(op.input(0).dtype, [&](auto from) {
    with_cast_type(op.output(0).dtype, [&](auto to) {
      made = make_unary<decltype(from), decltype(to)>(
          op, [](decltype(from) x) { return convert<decltype(to)>(x); });
    });
  });
  return made;
}

std::vector<ValueInfo> infer_clip(const OpContext& op) {
  require_type(op, 0, NumberTypes{});
  for (const std::size_t bound : {std::size_t{1}, std::size_t{2}}) {
    if (!op.has_input(bound)) continue;
    require_same_type(op, 0, bound);
    require_single(op, bound, bound == 1 ? "the lower bound" : "the upper bound");
  }
  return {op.input(0)};
}

std::unique_ptr<Operator> make_clip(const OpContext& op) {
  return make_for_type(NumberTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    return make_operator([nest = nest_from_input(op, 0)](const Operands& o) {
      const T low = o.has_input(1) ? *o.in<T>(1) : std::numeric_limits<T>::lowest();
      const T high = o.has_input(2) ? *o.in<T>(2) : std::numeric_limits<T>::max();
      run_unary(nest, o.in<T>(0), o.out<T>(0), o.threads(), [low, high](T x) {
        const T raised = x < low ? low : x;
        return raised > high ? high : raised;
      });
    });
  });
}

// The row of an operator that asks something about each float.
template <typename Make>
OpDef question_row(Make /*make*/) {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatingTypes{});
            static_cast<void>(Make{}(op));  // reads, and so checks, the attributes
            return std::vector<ValueInfo>{{DType::kBool, op.input(0).shape}};
          },
          [](const OpContext& op) {
            return make_for_type(FloatingTypes{}, op.input(0).dtype, [&](auto element) {
              return make_unary<decltype(element), std::uint8_t>(op, [ask = Make{}(op)](auto x) {
                return static_cast<std::uint8_t>(ask(x) ? 1 : 0);
              });
            });
          },
          LayoutRule::kAny};
}

}  // namespace

OpDef op_Cast() { return {infer_cast, make_cast, LayoutRule::kAny}; }

// Layouts are plain because both inputs would be brought into one.
OpDef op_CastLike() { return {infer_cast_like, make_cast}; }

OpDef op_Clip() { return {infer_clip, make_clip, LayoutRule::kAny}; }

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

OpDef op_IsNaN() {
  return question_row([](const OpContext&) { return [](auto x) { return std::isnan(x); }; });
}

OpDef op_IsInf() {
  return question_row([](const OpContext& op) {
    return [above = op.node.get_int("detect_positive", 1) != 0,
            below = op.node.get_int("detect_negative", 1) != 0](auto x) {
      return std::isinf(x) && (x > 0 ? above : below);
    };
  });
}

}  // namespace qtool
