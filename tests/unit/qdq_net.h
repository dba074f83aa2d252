#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {

template <typename T>
Tensor random_integers(Shape shape, int low, int high, unsigned seed) {
  Tensor tensor(dtype_of<T>(), std::move(shape));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> integer(low, high);
  for (T& value : tensor.values<T>()) value = static_cast<T>(integer(random));
  return tensor;
}

/// A graph of Q/DQ clusters by name.
class QdqNet : public Net {
 public:
  template <typename T = std::uint8_t>
  std::string qdq(const std::string& real, float scale, int zero_point) {
    const std::string s = constant(real + "_s", Tensor::scalar<float>(scale));
    const std::string z = constant(real + "_z", Tensor::scalar<T>(static_cast<T>(zero_point)));
    const std::string q = op("QuantizeLinear", real + "_q", {real, s, z});
    return op("DequantizeLinear", real + "_dq", {q, s, z});
  }

  template <typename T = std::int8_t>
  std::string weights(const std::string& name, Shape shape, std::int64_t axis, int low = -127,
                      int high = 127, int zero_point = 0) {
    const std::int64_t channels = shape[axis];
    constant(name + "_q", random_integers<T>(shape, low, high, 11));
    Tensor scales = random_floats({channels}, 12, 0.001F, 0.02F);
    Tensor zeros(dtype_of<T>(), {channels});
    for (T& z : zeros.template values<T>()) z = static_cast<T>(zero_point);
    constant(name + "_s", std::move(scales));
    constant(name + "_z", std::move(zeros));
    return op("DequantizeLinear", name, {name + "_q", name + "_s", name + "_z"}, {{"axis", axis}});
  }

  std::string bias(const std::string& name, std::int64_t channels) {
    return constant(name, random_floats({channels}, 13, -1.0F, 1.0F));
  }
};

}  // namespace qtool
