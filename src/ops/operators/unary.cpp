#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/elementary/elementary.h"
#include "kernels/vector_math.h"
#include "ops/elementwise.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "tensor/convert.h"

namespace qtool {
namespace {

using SignedTypes = TypeList<float, std::int32_t, std::int64_t, double, std::int8_t, std::int16_t>;

// A function of one float without attributes.
template <typename F>
OpDef float_row(F /*f*/) {
  return unary_row<FloatType>([](const OpContext&) { return F{}; });
}

// A function of the C library. The calls cost more than the loop, so all such operators share one
// loop.
template <float (*F)(float)>
OpDef library_row() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) { return make_rows<1>(op, unary_rows<float, float>(F)); },
          LayoutRule::kAny};
}

// A function computed by kernels: `make(op)` gives `f(functions, x, y, count)`, which reads x and
// writes y. f is called for at most kUnaryTile elements at a time.
constexpr std::int64_t kUnaryTile = 1024;

template <typename Make>
OpDef kernel_row(Make /*make*/) {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            static_cast<void>(Make{}(op));  // reads, and so checks, the attributes
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) {
            QTOOL_CHECK(op.input_layout(0) == op.output_layout(0));
            return make_operator([f = Make{}(op), kernel = ElementaryKernel(),
                                  elements = op.output(0).shape.elements()](const Operands& o) {
              for_pieces(elements, o.threads(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t at = begin; at < end; at += kUnaryTile) {
                  f(kernel.functions(), o.in<float>(0) + at, o.out<float>(0) + at,
                    std::min(kUnaryTile, end - at));
                }
              });
            });
          },
          LayoutRule::kAny};
}

// An operator that is exactly one function of the kernels.
template <ElementaryFunction ElementaryFunctions::*function>
OpDef elementary_row() {
  return kernel_row([](const OpContext&) {
    return [](const ElementaryFunctions& functions, const float* x, float* y, std::int64_t count) {
      (functions.*function)(x, y, count);
    };
  });
}

// `positive * x` for x >= 0, `negative (e^x - 1)` for x < 0.
auto exponential_unit(float positive, float negative) {
  return [=](const ElementaryFunctions& functions, const float* x, float* y, std::int64_t count) {
    float power[kUnaryTile] = {};
    functions.expm1(x, power, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto below = static_cast<std::uint32_t>(float_bits::bits_of(x[i]) >> 31);
      y[i] = float_bits::blend(below, negative * power[i], positive * x[i]);
    }
  };
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

// The row of an operator that tests each float and gives a bool.
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

OpDef op_Relu() {
  return unary_row<NumberTypes>([](const OpContext&) {
    return [](auto x) {
      using T = decltype(x);
      return std::max(x, T{0});
    };
  });
}

OpDef op_Clip() { return {infer_clip, make_clip, LayoutRule::kAny}; }

OpDef op_LeakyRelu() {
  return unary_row<FloatType>([](const OpContext& op) {
    return [alpha = op.node.get_float("alpha", 0.01F)](float x) { return vector_leaky(x, alpha); };
  });
}

OpDef op_ThresholdedRelu() {
  return unary_row<FloatType>([](const OpContext& op) {
    return [alpha = op.node.get_float("alpha", 1.0F)](float x) { return x > alpha ? x : 0.0F; };
  });
}

OpDef op_Elu() {
  return kernel_row(
      [](const OpContext& op) { return exponential_unit(1.0F, op.node.get_float("alpha", 1.0F)); });
}

OpDef op_Selu() {
  return kernel_row([](const OpContext& op) {
    const float alpha = op.node.get_float("alpha", 1.67326319217681884765625F);
    const float gamma = op.node.get_float("gamma", 1.05070102214813232421875F);
    return exponential_unit(gamma, gamma * alpha);
  });
}

OpDef op_Celu() {
  return kernel_row([](const OpContext& op) {
    return [alpha = op.node.get_float("alpha", 1.0F)](
               const ElementaryFunctions& functions, const float* x, float* y, std::int64_t count) {
      float power[kUnaryTile] = {};
      for (std::int64_t i = 0; i < count; ++i) power[i] = x[i] / alpha;
      functions.expm1(power, power, count);
      for (std::int64_t i = 0; i < count; ++i) {
        y[i] = std::max(x[i], 0.0F) + std::min(0.0F, alpha * power[i]);
      }
    };
  });
}

OpDef op_HardSigmoid() {
  return unary_row<FloatType>([](const OpContext& op) {
    return [alpha = op.node.get_float("alpha", 0.2F), beta = op.node.get_float("beta", 0.5F)](
               float x) { return std::max(0.0F, std::min(1.0F, alpha * x + beta)); };
  });
}

OpDef op_HardSwish() {
  return float_row([](float x) { return hard_swish(x); });
}

OpDef op_Sigmoid() { return elementary_row<&ElementaryFunctions::sigmoid>(); }

OpDef op_Shrink() {
  return unary_row<NumberTypes>([](const OpContext& op) {
    return [lambda = op.node.get_float("lambd", 0.5F),
            bias = op.node.get_float("bias", 0.0F)](auto x) {
      using T = decltype(x);
      const auto real = static_cast<float>(x);
      const float moved = real < -lambda ? real + bias : real > lambda ? real - bias : 0.0F;
      if constexpr (std::is_integral_v<T>) {
        return convert<T>(moved);
      } else {
        return static_cast<T>(moved);
      }
    };
  });
}

OpDef op_Softplus() { return elementary_row<&ElementaryFunctions::softplus>(); }

OpDef op_Softsign() {
  return float_row([](float x) { return x / (1.0F + std::abs(x)); });
}

OpDef op_Neg() {
  return unary_row<SignedTypes>([](const OpContext&) {
    return [](auto x) {
      using T = decltype(x);
      if constexpr (std::is_integral_v<T>) {
        return wrap_sub(T{0}, x);
      } else {
        return -x;
      }
    };
  });
}

OpDef op_Abs() {
  return unary_row<NumberTypes>([](const OpContext&) {
    return [](auto x) {
      using T = decltype(x);
      if constexpr (std::is_integral_v<T>) {
        return x < T{0} ? wrap_sub(T{0}, x) : x;
      } else {
        return std::abs(x);
      }
    };
  });
}

OpDef op_Sign() {
  return unary_row<NumberTypes>([](const OpContext&) {
    return [](auto x) {
      using T = decltype(x);
      const int below = std::is_signed_v<T> && x < T{0} ? 1 : 0;
      return static_cast<T>((x > T{0} ? 1 : 0) - below);
    };
  });
}

OpDef op_Exp() { return elementary_row<&ElementaryFunctions::exp>(); }
OpDef op_Log() { return library_row<std::log>(); }
OpDef op_Sqrt() {
  return float_row([](float x) { return std::sqrt(x); });
}
OpDef op_Reciprocal() {
  return float_row([](float x) { return 1.0F / x; });
}
OpDef op_Floor() {
  return float_row([](float x) { return std::floor(x); });
}
OpDef op_Ceil() {
  return float_row([](float x) { return std::ceil(x); });
}
OpDef op_Round() {
  return float_row([](float x) { return std::nearbyint(x); });  // ties to even
}
OpDef op_Erf() { return elementary_row<&ElementaryFunctions::erf>(); }
OpDef op_Sin() { return library_row<std::sin>(); }
OpDef op_Cos() { return library_row<std::cos>(); }
OpDef op_Tan() { return library_row<std::tan>(); }
OpDef op_Asin() { return library_row<std::asin>(); }
OpDef op_Acos() { return library_row<std::acos>(); }
OpDef op_Atan() { return library_row<std::atan>(); }
OpDef op_Sinh() { return library_row<std::sinh>(); }
OpDef op_Cosh() { return library_row<std::cosh>(); }
OpDef op_Tanh() { return elementary_row<&ElementaryFunctions::tanh>(); }
OpDef op_Asinh() { return library_row<std::asinh>(); }
OpDef op_Acosh() { return library_row<std::acosh>(); }
OpDef op_Atanh() { return library_row<std::atanh>(); }

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
