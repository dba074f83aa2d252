#pragma once

#include <cstdint>

#include "kernels/elementary/contract.h"
#include "kernels/vector_math.h"

// The code of all kernels of the family: loops without branches, which the compiler vectorizes for
// the instruction set of the file that includes it.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see vector_math.h

// Works on a block of its own that overlaps neither `x` nor `y`, because compilers do not vectorize
// a loop over memory that may overlap.
template <typename Function>
[[gnu::always_inline]] inline void map_elements(const float* x, float* y, std::int64_t count,
                                                const Function& function) {
  constexpr std::int64_t kBlock = 64;
  float block[kBlock];
  std::int64_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
    __builtin_memcpy(block, x + at, sizeof(block));
    for (std::int64_t i = 0; i < kBlock; ++i) block[i] = function(block[i]);
    __builtin_memcpy(y + at, block, sizeof(block));
  }
  if (at == count) return;
  const auto bytes = static_cast<std::uint64_t>(count - at) * sizeof(float);
  __builtin_memset(block, 0, sizeof(block));
  __builtin_memcpy(block, x + at, bytes);
  for (std::int64_t i = 0; i < kBlock; ++i) block[i] = function(block[i]);
  __builtin_memcpy(y + at, block, bytes);
}

inline void erf_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_erf(v); });
}
inline void exp_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_exp(v); });
}
inline void expm1_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_expm1(v); });
}
inline void sigmoid_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_sigmoid(v); });
}
inline void silu_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_silu(v); });
}
inline void softplus_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_softplus(v); });
}
inline void tanh_of(const float* x, float* y, std::int64_t count) {
  map_elements(x, y, count, [](float v) { return vector_tanh(v); });
}

constexpr ElementaryFunctions kElementary = {erf_of,  exp_of,      expm1_of, sigmoid_of,
                                             silu_of, softplus_of, tanh_of};

}  // namespace
}  // namespace qtool
