#pragma once

#include <random>
#include <utility>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// A float32 tensor of uniform values in [low, high), the same for the same seed.
inline Tensor random_floats(Shape shape, unsigned seed, float low = -1.0F, float high = 1.0F) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(low, high);
  for (float& value : tensor.values<float>()) value = real(random);
  return tensor;
}

/// A float32 tensor of values of a normal distribution, the same for the same seed.
inline Tensor normal_floats(Shape shape, unsigned seed, float mean, float deviation) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  for (float& value : tensor.values<float>()) value = normal(random);
  return tensor;
}

}  // namespace qtool
