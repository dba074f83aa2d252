#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

// Functions of single elements, applied to whole tensors of any layout.
namespace qtool {

/// Element types with loops of their own, which the compiler vectorizes. The other types occur in
/// shape arithmetic only. They share the loops over rows, and only the function of a row differs by
/// type, which keeps the library small.
template <typename T>
inline constexpr bool kIsHot = std::is_same_v<T, float>;

/// The elements of one pass of the innermost loop: `count` elements, `out_step` or `in_step` bytes
/// apart.
template <std::size_t Inputs>
struct Row {
  std::int64_t count = 0;
  std::byte* out = nullptr;
  std::int64_t out_step = 0;
  std::array<const std::byte*, Inputs> in{};
  std::array<std::int64_t, Inputs> in_step{};
};

/// A function of the elements of a row, whatever their types.
template <std::size_t Inputs>
using RowFunction = std::function<void(const Row<Inputs>&)>;

template <typename In, typename Out, typename F>
RowFunction<1> unary_rows(F f) {
  return [f](const Row<1>& row) {
    for (std::int64_t i = 0; i < row.count; ++i) {
      const In x = *reinterpret_cast<const In*>(row.in[0] + i * row.in_step[0]);
      *reinterpret_cast<Out*>(row.out + i * row.out_step) = f(x);
    }
  };
}

template <typename A, typename B, typename Out, typename F>
RowFunction<2> binary_rows(F f) {
  return [f](const Row<2>& row) {
    for (std::int64_t i = 0; i < row.count; ++i) {
      const A a = *reinterpret_cast<const A*>(row.in[0] + i * row.in_step[0]);
      const B b = *reinterpret_cast<const B*>(row.in[1] + i * row.in_step[1]);
      *reinterpret_cast<Out*>(row.out + i * row.out_step) = f(a, b);
    }
  };
}

/// Calls `f` for all rows of a nest of (output, inputs). `bytes`: the bytes of one element of the
/// output and of each input.
template <std::size_t Inputs>
void run_rows(const LoopNest<Inputs + 1>& nest, const std::array<std::int64_t, Inputs + 1>& bytes,
              const RowFunction<Inputs>& f, void* out, const std::array<const void*, Inputs>& in,
              int threads);

/// The operator that calls `f` for all rows of its first output.
template <std::size_t Inputs>
std::unique_ptr<Operator> make_rows(const OpContext& op, RowFunction<Inputs> f);

/// Arithmetic that wraps around for integers (models are untrusted; overflow must stay defined).
template <typename T>
constexpr T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
constexpr T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return a - b;
  }
}
template <typename T>
constexpr T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    // Narrow unsigned numbers would be promoted to int, and a product of two 16-bit numbers
    // overflows an int.
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

/// The operator that copies its first input to its output through a nest of (output, input).
std::unique_ptr<Operator> make_strided_copy(const OpContext& op, const LoopNest<2>& nest);

/// The larger of two; NaN when either is.
template <typename T>
T larger(T a, T b) {
  return a < b || b != b ? b : a;
}
/// The smaller of two; NaN when either is.
template <typename T>
T smaller(T a, T b) {
  return b < a || b != b ? b : a;
}

/// The loops from the node's input `input`, broadcast, to its first output.
LoopNest<2> nest_from_input(const OpContext& op, std::size_t input);

/// The loops of a binary operator: (output, input `a`, input `b`), both inputs broadcast.
LoopNest<3> nest_of_pair(const OpContext& op, std::size_t a, std::size_t b);

/// out = f(in) for each element.
template <typename In, typename Out, typename F>
void run_unary(const LoopNest<2>& nest, const In* in, Out* out, int threads, const F& f) {
  if (!kIsHot<In> || nest.inner_step(0) != 1 || nest.inner_step(1) != 1) {
    run_rows<1>(nest, {sizeof(Out), sizeof(In)}, unary_rows<In, Out>(f), out, {in}, threads);
  } else if constexpr (kIsHot<In>) {
    nest.run(threads, [&](std::int64_t count, const LoopNest<2>::Offsets& at) {
      Out* y = out + at[0];
      const In* x = in + at[1];
      for (std::int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
    });
  }
}

/// out = f(a, b) for each element.
template <typename A, typename B, typename Out, typename F>
void run_binary(const LoopNest<3>& nest, const A* a, const B* b, Out* out, int threads,
                const F& f) {
  const std::int64_t from_a = nest.inner_step(1);
  const std::int64_t from_b = nest.inner_step(2);
  const bool dense = nest.inner_step(0) == 1 && from_a <= 1 && from_b <= 1 && from_a + from_b > 0;
  if (!kIsHot<A> || !dense) {
    run_rows<2>(nest, {sizeof(Out), sizeof(A), sizeof(B)}, binary_rows<A, B, Out>(f), out, {a, b},
                threads);
  } else if constexpr (kIsHot<A>) {
    nest.run(threads, [&](std::int64_t count, const LoopNest<3>::Offsets& at) {
      Out* y = out + at[0];
      const A* p = a + at[1];
      const B* q = b + at[2];
      if (from_b == 0) {
        const B right = *q;
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(p[i], right);
      } else if (from_a == 0) {
        const A left = *p;
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(left, q[i]);
      } else {
        for (std::int64_t i = 0; i < count; ++i) y[i] = f(p[i], q[i]);
      }
    });
  }
}

/// The operator out = f(input 0).
template <typename In, typename Out, typename F>
std::unique_ptr<Operator> make_unary(const OpContext& op, F f) {
  if constexpr (!kIsHot<In>) {
    return make_rows<1>(op, unary_rows<In, Out>(f));
  } else {
    return make_operator([nest = nest_from_input(op, 0), f](const Operands& o) {
      run_unary(nest, o.in<In>(0), o.out<Out>(0), o.threads(), f);
    });
  }
}

/// The operator out = f(input 0, input 1).
template <typename A, typename B, typename Out, typename F>
std::unique_ptr<Operator> make_binary(const OpContext& op, F f) {
  if constexpr (!kIsHot<A>) {
    return make_rows<2>(op, binary_rows<A, B, Out>(f));
  } else {
    return make_operator([nest = nest_of_pair(op, 0, 1), f](const Operands& o) {
      run_binary(nest, o.in<A>(0), o.in<B>(1), o.out<Out>(0), o.threads(), f);
    });
  }
}

/// The OpDef of an operator that maps each element to one of the same type. `Make` is a stateless
/// function that returns the function of an element for a node, so that attributes are read once.
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
