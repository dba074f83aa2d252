#include <cmath>
#include <limits>

#include "graph/onnx_dtype.h"
#include "ops/elementwise.h"
#include "ops/operator.h"

// Operators that change the element type, bound it or ask about it.
namespace qtool {
namespace {

// Booleans are read as bytes: a model may store any byte for "true".
struct Bool {
  std::uint8_t byte;
};

template <typename T>
auto widen(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return to_float(x);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<std::int32_t>(x.byte != 0 ? 1 : 0);
  } else {
    return x;
  }
}

// The specification leaves floats outside an integer type undefined; they saturate, NaN gives 0.
template <typename To, typename From>
To convert(From raw) {
  const auto x = widen(raw);
  using Wide = decltype(x);
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(x != 0 ? 1 : 0)};
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<std::remove_const_t<Wide>>) {
    if (std::isnan(x)) return To{0};
    // Both limits as floats: the upper one may round up by one, hence >=.
    if (x <= static_cast<Wide>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (x >= static_cast<Wide>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// Calls `use` with a value of the C++ type that stores `dtype`; false when Cast cannot handle it.
template <typename Use>
bool with_cast_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::kFloat32:
      return use(float{}), true;
    case DType::kFloat64:
      return use(double{}), true;
    case DType::kFloat16:
      return use(Float16{}), true;
    case DType::kInt8:
      return use(std::int8_t{}), true;
    case DType::kUInt8:
      return use(std::uint8_t{}), true;
    case DType::kInt32:
      return use(std::int32_t{}), true;
    case DType::kInt64:
      return use(std::int64_t{}), true;
    case DType::kBool:
      return use(Bool{}), true;
    default:
      return false;
  }
}

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

}  // namespace

OpDef op_Cast() { return {infer_cast, make_cast, LayoutRule::kAny}; }

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
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            return std::vector<ValueInfo>{{DType::kBool, op.input(0).shape}};
          },
          [](const OpContext& op) {
            return make_unary<float, std::uint8_t>(
                op, [](float x) { return static_cast<std::uint8_t>(std::isnan(x) ? 1 : 0); });
          },
          LayoutRule::kAny};
}

}  // namespace qtool
