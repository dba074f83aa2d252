#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "unit/quantize_net.h"

namespace qtool {

inline constexpr std::int64_t kLayerSide = 8;
inline constexpr std::int64_t kLayerChannels = 4;

/// Convolutions `a`, `b`, `c` and `d` of the input `x`, with random weights and biases, each
/// followed by a Relu called `a_relu` and so on.
inline Graph four_layers() {
  Net net;
  std::string last = net.input("x", {1, 3, kLayerSide, kLayerSide});
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0F, 0.5F);
  std::int64_t inputs = 3;
  for (const std::string name : {"a", "b", "c", "d"}) {
    Tensor w(DType::kFloat32, {kLayerChannels, inputs, 3, 3});
    for (float& value : w.values<float>()) value = normal(random);
    Tensor b(DType::kFloat32, {kLayerChannels});
    for (float& value : b.values<float>()) value = normal(random);
    net.constant(name + "_w", std::move(w));
    net.constant(name + "_b", std::move(b));
    net.op("Conv", name, {last, name + "_w", name + "_b"},
           {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    last = net.op("Relu", name + "_relu", {name + "_out"});
    inputs = kLayerChannels;
  }
  net.output(last);
  return std::move(net.graph);
}

}  // namespace qtool
