#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementary/contract.h"
#include "kernels/unroll.h"
#include "kernels/vector_math.h"

// The code of all kernels of the family, on vectors of the instruction set of the file that
// includes it.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see vector_math.h

// A function is a long chain of operations, each of which waits for the one before. So a vector
// consists of several registers, whose chains run side by side.
#if defined(__AVX2__)
constexpr std::size_t kVectorBytes = 128;
#else
constexpr std::size_t kVectorBytes = 16;  // more would need options for the whole program
#endif
using FloatVector = float __attribute__((vector_size(kVectorBytes)));

template <>
struct float_bits::Integers<FloatVector> {
  using Signed = std::int32_t __attribute__((vector_size(kVectorBytes)));
  using Unsigned = std::uint32_t __attribute__((vector_size(kVectorBytes)));
};

template <typename Function>
[[gnu::always_inline]] inline void map_elements(const float* x, float* y, std::int64_t count,
                                                const Function& function) {
  constexpr auto kLanes = static_cast<std::int64_t>(kVectorBytes / sizeof(float));
  FloatVector vector;
  std::int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    __builtin_memcpy(&vector, x + at, sizeof(vector));
    vector = function(vector);
    __builtin_memcpy(y + at, &vector, sizeof(vector));
  }
  if (at == count) return;
  const auto bytes = static_cast<std::uint64_t>(count - at) * sizeof(float);
  vector = FloatVector{};
  __builtin_memcpy(&vector, x + at, bytes);
  vector = function(vector);
  __builtin_memcpy(y + at, &vector, bytes);
}

inline void erf_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_erf<FloatVector>(v); });
}
inline void exp_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_exp<FloatVector>(v); });
}
inline void expm1_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_expm1<FloatVector>(v); });
}
inline void sigmoid_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_sigmoid<FloatVector>(v); });
}
inline void silu_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_silu<FloatVector>(v); });
}
inline void softplus_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_softplus<FloatVector>(v); });
}
inline void tanh_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count,
               [](const FloatVector& v) QTOOL_INLINE { return vector_tanh<FloatVector>(v); });
}

constexpr ElementaryFunctions kElementary = {erf_of,  exp_of,      expm1_of, sigmoid_of,
                                             silu_of, softplus_of, tanh_of};

}  // namespace
}  // namespace qtool
