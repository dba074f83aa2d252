#pragma once

#include <span>
#include <vector>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// A copy of the tensor's values, which outlives it.
template <typename T = float>
std::vector<T> values_of(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace qtool
