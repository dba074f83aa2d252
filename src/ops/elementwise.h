#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

// Functions of single elements, applied to whole tensors of any layout.
namespace qtool {

/// Element types with extra loops for contiguous elements, which the compiler vectorizes. The other
/// types occur in shape arithmetic only; one general loop each keeps the library small.
template <typename T>
inline constexpr bool kIsHot = std::is_same_v<T, float>;

/// Arithmetic that wraps around for integers (models are untrusted; overflow must stay defined).
template <typename T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return a - b;
  }
}
template <typename T>
T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

/// The loops from the node's input `input`, broadcast, to its first output.
inline LoopNest<2> nest_from_input(const OpContext& op, std::size_t input) {
  const Shape& shape = op.output(0).shape;
  return {shape.dims(),
          {strides_of(shape, op.output_layout(0)),
           broadcast_strides(op.input(input).shape, op.input_layout(input), shape)}};
}

/// The loops of a binary operator: (output, input `a`, input `b`), both inputs broadcast.
inline LoopNest<3> nest_of_pair(const OpContext& op, std::size_t a, std::size_t b) {
  const Shape& shape = op.output(0).shape;
  return {shape.dims(),
          {strides_of(shape, op.output_layout(0)),
           broadcast_strides(op.input(a).shape, op.input_layout(a), shape),
           broadcast_strides(op.input(b).shape, op.input_layout(b), shape)}};
}

/// out = f(in) for each element.
template <typename In, typename Out, typename F>
void run_unary(const LoopNest<2>& nest, const In* in, Out* out, int threads, const F& f) {
  const std::int64_t to = nest.inner_step(0);
  const std::int64_t from = nest.inner_step(1);
  nest.run(threads, [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
    Out* y = out + at[0];
    const In* x = in + at[1];
    if constexpr (kIsHot<In>) {
      if (to == 1 && from == 1) {
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
        return;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) y[i * to] = f(x[i * from]);
  });
}

/// out = f(a, b) for each element.
template <typename A, typename B, typename Out, typename F>
void run_binary(const LoopNest<3>& nest, const A* a, const B* b, Out* out, int threads,
                const F& f) {
  const std::int64_t to = nest.inner_step(0);
  const std::int64_t from_a = nest.inner_step(1);
  const std::int64_t from_b = nest.inner_step(2);
  nest.run(threads, [&](std::int64_t count, const LoopNest<3>::Offsets& at) {
    Out* y = out + at[0];
    const A* p = a + at[1];
    const B* q = b + at[2];
    if constexpr (kIsHot<A>) {
      if (to == 1 && from_a == 1 && from_b == 1) {
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(p[i], q[i]);
        return;
      }
      if (to == 1 && from_a == 1 && from_b == 0) {
        const B right = *q;
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(p[i], right);
        return;
      }
      if (to == 1 && from_a == 0 && from_b == 1) {
        const A left = *p;
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(left, q[i]);
        return;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) y[i * to] = f(p[i * from_a], q[i * from_b]);
  });
}

/// The operator out = f(input 0).
template <typename In, typename Out, typename F>
std::unique_ptr<Operator> make_unary(const OpContext& op, F f) {
  return make_operator([nest = nest_from_input(op, 0), f](const Operands& o) {
    run_unary(nest, o.in<In>(0), o.out<Out>(0), o.threads(), f);
  });
}

/// The operator out = f(input 0, input 1).
template <typename A, typename B, typename Out, typename F>
std::unique_ptr<Operator> make_binary(const OpContext& op, F f) {
  return make_operator([nest = nest_of_pair(op, 0, 1), f](const Operands& o) {
    run_binary(nest, o.in<A>(0), o.in<B>(1), o.out<Out>(0), o.threads(), f);
  });
}

/// The row of an operator that maps each element to one of the same type. `Make` is a stateless
/// function from the node to the function of an element, so that attributes are read once.
template <typename Types, typename Make>
OpDef unary_row(Make /*make*/) {
  return {[](const OpContext& op) {
            require_type(op, 0, Types{});
            static_cast<void>(Make{}(op));  // reads, and so checks, the attributes
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) {
            return make_for_type(Types{}, op.input(0).dtype, [&](auto element) {
              using T = decltype(element);
              return make_unary<T, T>(op, Make{}(op));
            });
          },
          LayoutRule::kAny};
}

}  // namespace qtool
