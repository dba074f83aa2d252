#include <algorithm>
#include <cmath>

#include "kernels/vector_math.h"
#include "ops/elementwise.h"
#include "ops/operator.h"
#include "tensor/convert.h"

namespace qtool {
namespace {

using BaseTypes = TypeList<float, double, std::int32_t, std::int64_t>;

std::vector<ValueInfo> infer_pair(const OpContext& op) {
  require_type(op, 0, NumberTypes{});
  require_same_type(op, 0, 1);
  return {{op.input(0).dtype, broadcast(op, op.input(0).shape, op.input(1).shape)}};
}

// The row of an arithmetic operator out = f(a, b) on one element type.
template <typename F>
OpDef arithmetic_row(F /*f*/) {
  return {infer_pair,
          [](const OpContext& op) {
            return make_for_type(NumberTypes{}, op.input(0).dtype, [&](auto element) {
              using T = decltype(element);
              return make_binary<T, T, T>(op, F{});
            });
          },
          LayoutRule::kAny};
}

[[noreturn]] void fail_division() {
  throw Error(ErrorCode::kInvalidModel, "found an integer division by zero");
}

// Integer quotient rounded towards zero; the one overflow (lowest / -1) wraps.
template <typename T>
T divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) fail_division();
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrap_sub(T{0}, a);
    }
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

// Remainder with the sign of the divisor (Python) or of the dividend (C).
template <typename T>
T floor_mod(T a, T b) {
  if (b == 0) fail_division();
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const auto rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  } else {
    return static_cast<T>(a % b);
  }
}
template <typename T>
T truncated_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) fail_division();
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
}

// Integer powers wrap around; a negative exponent gives the real power, truncated.
template <typename T, typename Exponent>
T integer_power(T base, Exponent exponent) {
  if constexpr (std::is_signed_v<Exponent>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
      return 0;
    }
  }
  T result = 1;
  for (; exponent > 0; exponent = static_cast<Exponent>(exponent >> 1)) {
    if ((exponent & 1) != 0) result = wrap_mul(result, base);
    base = wrap_mul(base, base);
  }
  return result;
}

template <typename Base, typename Exponent>
Base power(Base base, Exponent exponent) {
  if constexpr (std::is_integral_v<Base> && std::is_integral_v<Exponent>) {
    return integer_power(base, exponent);
  } else if constexpr (std::is_integral_v<Base>) {
    return convert<Base>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  } else {
    return std::pow(base, static_cast<Base>(exponent));
  }
}

std::vector<ValueInfo> infer_pow(const OpContext& op) {
  require_type(op, 0, BaseTypes{});
  require_type(op, 1, NumberTypes{});
  return {{op.input(0).dtype, broadcast(op, op.input(0).shape, op.input(1).shape)}};
}

std::unique_ptr<Operator> make_pow(const OpContext& op) {
  return make_for_type(BaseTypes{}, op.input(0).dtype, [&](auto base) {
    return make_for_type(NumberTypes{}, op.input(1).dtype, [&](auto exponent) {
      using A = decltype(base);
      using B = decltype(exponent);
      const Tensor* constant = op.constant(1);
      if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) {
        // Squares are common in exported normalizations; the product is the exact power.
        if (constant != nullptr && constant->elements() == 1 &&
            constant->values<float>()[0] == 2.0F) {
          return make_unary<float, float>(op, [](float x) { return x * x; });
        }
      }
      return make_binary<A, B, A>(op, [](A x, B y) { return power(x, y); });
    });
  });
}

std::vector<ValueInfo> infer_mod(const OpContext& op) {
  if (op.node.get_int("fmod", 0) == 0 &&
      (op.input(0).dtype == DType::kFloat32 || op.input(0).dtype == DType::kFloat64)) {
    op.fail("fmod is 0, expected 1 for floating-point inputs");
  }
  return infer_pair(op);
}

std::unique_ptr<Operator> make_mod(const OpContext& op) {
  const bool truncate = op.node.get_int("fmod", 0) != 0;
  return make_for_type(NumberTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>) {
      if (!truncate) return make_binary<T, T, T>(op, [](T a, T b) { return floor_mod(a, b); });
    }
    return make_binary<T, T, T>(op, [](T a, T b) { return truncated_mod(a, b); });
  });
}

}  // namespace

OpDef op_Add() {
  return arithmetic_row([](auto a, auto b) { return wrap_add(a, b); });
}

// Add followed by Relu or Clip, where the sum was not fused into a convolution.
OpDef op_FusedAdd() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            return infer_pair(op);
          },
          [](const OpContext& op) {
            const auto [low, high] = op.params<FusedParams>().clamp.value();
            return make_binary<float, float, float>(op, [low = low, high = high](float a, float b) {
              return std::min(std::max(a + b, low), high);
            });
          },
          LayoutRule::kAny};
}

OpDef op_Sub() {
  return arithmetic_row([](auto a, auto b) { return wrap_sub(a, b); });
}
OpDef op_Mul() {
  return arithmetic_row([](auto a, auto b) { return wrap_mul(a, b); });
}
OpDef op_Div() {
  return arithmetic_row([](auto a, auto b) { return divide(a, b); });
}
OpDef op_Mod() { return {infer_mod, make_mod, LayoutRule::kAny}; }
OpDef op_Pow() { return {infer_pow, make_pow, LayoutRule::kAny}; }

OpDef op_PRelu() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            require_same_type(op, 0, 1);
            require_broadcastable(op, op.input(1).shape, op.input(0).shape, "the slope");
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) {
            return make_binary<float, float, float>(
                op, [](float x, float slope) { return vector_leaky(x, slope); });
          },
          LayoutRule::kAny};
}

}  // namespace qtool
