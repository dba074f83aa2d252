#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// The values, which must outlive it, as a float32 tensor.
inline TensorView float_view(std::span<const float> values, const Shape& shape,
                             Layout layout = Layout::kPlain) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::kFloat32, shape, layout};
}

/// The same of one image with one channel.
inline TensorView one_channel(std::span<const float> values) {
  return float_view(values, {1, 1, static_cast<std::int64_t>(values.size())});
}

}  // namespace qtool
