#include <cmath>

#include "kernels/elementary/elementary.h"

namespace qtool {
namespace {

template <typename Function>
void map_in_double(const float* x, float* y, std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<float>(function(static_cast<double>(x[i])));
  }
}

}  // namespace

void reference_erf(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) { return std::erf(v); });
}

void reference_exp(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) { return std::exp(v); });
}

void reference_expm1(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) { return std::expm1(v); });
}

void reference_sigmoid(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) { return 1.0 / (1.0 + std::exp(-v)); });
}

void reference_silu(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) { return v / (1.0 + std::exp(-v)); });
}

void reference_softplus(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) {
    const double positive = v < 0.0 ? 0.0 : v;
    return positive + std::log1p(std::exp(-std::abs(v)));
  });
}

void reference_tanh(const float* x, float* y, std::int64_t count) {
  map_in_double(x, y, count, [](double v) { return std::tanh(v); });
}

}  // namespace qtool
