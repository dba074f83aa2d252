#pragma once

#include <cstdint>
#include <random>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The source of random numbers for tests that try random cases. The same seed gives the same
/// numbers.
class RandomCases {
 public:
  explicit RandomCases(unsigned seed) : engine_(seed) {}

  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool one_in(std::int64_t count) { return between(1, count) == 1; }

  /// A float32 tensor of uniform values in [-1, 1).
  Tensor reals(const Shape& shape) {
    Tensor tensor(DType::kFloat32, shape);
    std::uniform_real_distribution<float> even(-1.0F, 1.0F);
    for (float& value : tensor.values<float>()) value = even(engine_);
    return tensor;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace qtool
