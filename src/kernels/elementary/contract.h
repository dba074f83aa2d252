#pragma once

#include <cstdint>

namespace qtool {

/// y[i] = f(x[i]); `y` may be `x`. All kernels are compiled from the same code, vector_math.h, and
/// give the same bits, vectorized or not.
using ElementaryFunction = void (*)(const float* x, float* y, std::int64_t count);

struct ElementaryFunctions {
  ElementaryFunction erf;       // within 3e-7
  ElementaryFunction exp;       // this and those below: within 4 units in the last place
  ElementaryFunction expm1;     // e^x - 1
  ElementaryFunction sigmoid;   // 1 / (1 + e^-x)
  ElementaryFunction silu;      // x sigmoid(x), within 5; 0 where the sigmoid is (below -88.4)
  ElementaryFunction softplus;  // ln(1 + e^x)
  ElementaryFunction tanh;
};

#define QTOOL_KERNEL(name) extern const ElementaryFunctions elementary_##name;
#include "kernels/elementary/elementary.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
