#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/integer/curve_domain.h"
#include "qtool/quant/affine.h"

// Functions in double precision that curves approximate.
namespace qtool::curves {

using Function = std::function<double(double)>;

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }
inline double gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }
inline double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }
inline double leaky(double x) { return x < 0.0 ? 0.1 * x : x; }
inline double elu(double x) { return x < 0.0 ? std::expm1(x) : x; }
inline double hard_swish(double x) { return x * std::clamp(x / 6.0 + 0.5, 0.0, 1.0); }
// Its kinks, at the square root of 7, are not those of a hard swish.
inline double narrow_swish(double x) {
  return x * std::clamp(x / (2.0 * std::sqrt(7.0)) + 0.5, 0.0, 1.0);
}

inline RealFunction in_floats(const Function& function) {
  return [&function](std::span<const float> in, std::span<float> out) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<float>(function(static_cast<double>(in[i])));
    }
  };
}

// The affine map of bytes from `low` to `high`.
inline Affine bytes_of(double low, double high) {
  const double scale = (high - low) / 255.0;
  return {static_cast<float>(scale), static_cast<std::int32_t>(std::nearbyint(-low / scale))};
}

// A function, and the ranges that its bytes have.
struct Case {
  std::string name;
  Function function;
  double low;
  std::vector<double> highs;
};

}  // namespace qtool::curves
