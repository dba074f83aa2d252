#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// A view of the values as a float32 tensor. The values must outlive it.
inline TensorView float_view(std::span<const float> values, const Shape& shape,
                             Layout layout = Layout::kPlain) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::kFloat32, shape, layout};
}

/// A view of the values as one image with one channel. The values must outlive it.
inline TensorView one_channel(std::span<const float> values) {
  return float_view(values, {1, 1, static_cast<std::int64_t>(values.size())});
}

}  // namespace qtool
