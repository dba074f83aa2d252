// Weights whose products cannot saturate when two of them are added in 16 bits.
#include "quantize/weights/weight_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "qtool/quantize/quantize.h"
#include "quantize/rounding/rounding.h"

namespace qtool {
namespace {

std::int64_t large_pairs(const Layer& layer, std::int32_t limit) {
  return count_large_pairs(layer.integers, layer, limit);
}

constexpr std::int32_t kLimit = 128;

/// A graph with one node that multiplies by weights.
struct OneLayer {
  Graph graph;
  NodeId node = kNoNode;

  OneLayer(const std::string& op, Tensor weights, std::int64_t groups = 1,
           bool transposed = false) {
    const ValueId x = graph.add_value("x");
    graph.add_input(x);
    const ValueId w = graph.add_constant("w", std::move(weights));
    Node made;
    made.op_type = op;
    made.name = "layer";
    made.inputs = {x, w};
    made.outputs = {graph.add_value("y")};
    if (groups != 1) made.attributes["group"] = groups;
    if (transposed) made.attributes["transB"] = std::int64_t{1};
    node = graph.add_node(std::move(made));
  }

  [[nodiscard]] Layer layer(Granularity granularity = Granularity::kPerChannel,
                            std::int32_t limit = kLimit) const {
    Layer layer = begin_layer(graph, node, weight_ports(graph, node).value(),
                              {DType::kInt8, 8, Symmetry::kSymmetric});
    layer.pair_limit = limit;
    choose_scales(layer, "absmax", granularity);
    round_weights(layer, find_rounding("nearest"));
    return layer;
  }
};

/// Weights of a normal distribution, as in trained networks.
Tensor normal_weights(const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  Tensor weights(DType::kFloat32, shape);
  for (float& w : weights.values<float>()) w = normal(random);
  return weights;
}

/// The integers of a convolution's output channel, [out, in, kernel...], in the order in which ONNX
/// Runtime multiplies. This says the order once more, without WeightLayout.
std::vector<std::int32_t> channel_of(const Layer& layer, std::int64_t channel) {
  const Shape& shape = layer.integers.shape();
  const auto integers = layer.integers.values<std::int8_t>();
  const std::int64_t taps = shape.elements() / (shape[0] * shape[1]);
  std::vector<std::int32_t> ordered;
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t i = 0; i < shape[1]; ++i) {
      ordered.push_back(integers[static_cast<std::size_t>((channel * shape[1] + i) * taps + tap)]);
    }
  }
  return ordered;
}

/// Whether vpmaddubsw saturates for some bytes: each product takes the byte that drives the sum
/// further in its direction.
bool saturates(std::int32_t a, std::int32_t b) {
  const std::int32_t most = 255 * std::max(a, 0) + 255 * std::max(b, 0);
  const std::int32_t least = 255 * std::min(a, 0) + 255 * std::min(b, 0);
  return most > std::numeric_limits<std::int16_t>::max() ||
         least < std::numeric_limits<std::int16_t>::min();
}

bool saturates(const std::vector<std::int32_t>& channel) {
  for (std::size_t k = 0; k + 1 < channel.size(); k += 2) {
    if (saturates(channel[k], channel[k + 1])) return true;
  }
  return false;
}

double squared_error(const Layer& layer) {
  const Tensor back = dequantize_weights(layer.integers, layer.affines);
  const auto reals = layer.weights.values<float>();
  const auto rounded = back.values<float>();
  double sum = 0.0;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const double off = static_cast<double>(reals[i]) - static_cast<double>(rounded[i]);
    sum += off * off;
  }
  return sum;
}

struct PairedWeights {
  std::string op;
  Shape weights;
  std::int64_t groups = 1;
};

const std::vector<PairedWeights>& paired_weights() {
  static const std::vector<PairedWeights> kCases = {
      {"Conv", Shape{8, 16, 1, 1}}, {"Conv", Shape{6, 3, 3, 3}},  // pairs cross taps
      {"Conv", Shape{5, 7, 5, 1}},  {"Conv", Shape{8, 4, 3, 3}, 2}, {"Conv", Shape{6, 1, 3, 3}, 3},
      {"Conv", Shape{6, 5, 4}},     {"Conv", Shape{4, 3, 2, 3, 2}}};
  return kCases;
}

TEST(WeightPairs, CannotSaturateForAnyActivations) {
  std::uint32_t seed = 0;
  for (const PairedWeights& one : paired_weights()) {
    for (const Granularity granularity : {Granularity::kPerChannel, Granularity::kPerTensor}) {
      const OneLayer net(one.op, normal_weights(one.weights, ++seed), one.groups);
      const Layer free = net.layer(granularity, 0);
      if (granularity == Granularity::kPerChannel) {
        EXPECT_GT(large_pairs(free, kLimit), 0) << one.weights.to_string();
      }
      const Layer limited = net.layer(granularity);
      EXPECT_EQ(large_pairs(limited, kLimit), 0);
      for (std::int64_t c = 0; c < one.weights[0]; ++c) {
        EXPECT_FALSE(saturates(channel_of(limited, c))) << one.weights.to_string() << ", " << c;
      }
    }
  }
}

TEST(WeightPairs, AreCountedAsTheInstructionMultiplies) {
  for (const PairedWeights& one : paired_weights()) {
    const Layer layer = OneLayer(one.op, normal_weights(one.weights, 77), one.groups)
                            .layer(Granularity::kPerChannel, 0);
    std::int64_t expected = 0;
    for (std::int64_t c = 0; c < one.weights[0]; ++c) {
      const std::vector<std::int32_t> channel = channel_of(layer, c);
      for (std::size_t k = 0; k + 1 < channel.size(); k += 2) {
        expected += saturates(channel[k], channel[k + 1]) ? 1 : 0;
      }
    }
    EXPECT_EQ(large_pairs(layer, kLimit), expected);
  }
}

TEST(WeightPairs, OfMatricesRunAlongTheDepth) {
  // [depth, channels]: the pairs are rows 0 and 1, and rows 2 and 3.
  const auto weights = [] {
    return Tensor::of<float>(Shape{4, 2}, std::vector<float>{1.0F, 1.0F, 1.0F, 0.0F,  //
                                                             0.1F, 0.9F, -1.0F, 0.9F});
  };
  const Layer free = OneLayer("MatMul", weights()).layer(Granularity::kPerChannel, 0);
  EXPECT_EQ(large_pairs(free, kLimit), 2);  // channel 0: rows 0, 1; channel 1: rows 2, 3
  EXPECT_EQ(large_pairs(OneLayer("MatMul", weights()).layer(), kLimit), 0);
  EXPECT_EQ(large_pairs(OneLayer("Gemm", weights()).layer(Granularity::kPerChannel, 0), kLimit), 2);
}

TEST(WeightPairs, OfTransposedMatricesRunAlongTheDepth) {
  // [channels, depth]
  const auto weights = [] {
    return Tensor::of<float>(Shape{2, 4}, std::vector<float>{1.0F, 1.0F, 0.1F, -1.0F,  //
                                                             1.0F, 0.0F, 0.9F, 0.9F});
  };
  const Layer free = OneLayer("Gemm", weights(), 1, true).layer(Granularity::kPerChannel, 0);
  EXPECT_EQ(large_pairs(free, kLimit), 2);  // channel 0: 0, 1; channel 1: 2, 3
  EXPECT_EQ(large_pairs(OneLayer("Gemm", weights(), 1, true).layer(), kLimit), 0);
}

TEST(WeightPairs, BecomeTheNearestIntegersWithinTheLimit) {
  for (const float b : {1.5F, 20.0F, 64.2F, 100.0F, 126.9F}) {
    for (const float sign : {1.0F, -1.0F}) {
      Tensor weights =
          Tensor::of<float>(Shape{1, 2, 1, 1}, std::vector<float>{sign * 127.0F, sign * b});
      const OneLayer net("Conv", std::move(weights));
      Layer layer = net.layer(Granularity::kPerChannel, 0);
      layer.affines.scales = {1.0F};  // so that no scale is raised
      layer.pair_limit = kLimit;
      round_weights(layer, find_rounding("nearest"));
      double least = std::numeric_limits<double>::infinity();
      for (int p = 0; p <= 127; ++p) {
        for (int q = 0; q <= 127 && p + q <= kLimit; ++q) {
          least = std::min(least, std::pow(127.0 - p, 2.0) + std::pow(double{b} - q, 2.0));
        }
      }
      EXPECT_NEAR(squared_error(layer), least, 1e-6) << sign * b;
    }
  }
}

TEST(WeightPairs, GetTheScaleOfLeastError) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const OneLayer net("Conv", normal_weights(Shape{1, 64, 1, 1}, seed));
    const Layer limited = net.layer();
    const Layer free = net.layer(Granularity::kPerChannel, 0);
    if (large_pairs(free, kLimit) == 0) continue;  // its scale stays
    const float plain = free.affines.scales.front();
    EXPECT_GE(limited.affines.scales.front(), plain);
    EXPECT_LE(limited.affines.scales.front(), 2.0F * plain);
    double least = std::numeric_limits<double>::infinity();
    Layer tried = net.layer();
    for (int step = 0; step <= 160; ++step) {
      tried.affines.scales = {plain * (1.0F + static_cast<float>(step) / 160.0F)};
      round_weights(tried, find_rounding("nearest"));
      least = std::min(least, squared_error(tried));
    }
    EXPECT_LE(squared_error(limited), 1.02 * least) << seed;
  }
}

TEST(WeightPairs, LeaveOtherChannelsAsTheyAre) {
  Tensor weights = normal_weights(Shape{2, 8, 1, 1}, 5);
  const auto values = weights.values<float>();
  for (std::size_t i = 0; i < 8; ++i) values[i] = i % 2 == 0 ? 1.0F : -1.0F;  // never together
  const OneLayer net("Conv", std::move(weights));
  const Layer free = net.layer(Granularity::kPerChannel, 0);
  const Layer limited = net.layer();
  EXPECT_EQ(limited.affines.scales[0], free.affines.scales[0]);
  EXPECT_EQ(channel_of(limited, 0), channel_of(free, 0));
}

TEST(WeightPairs, HaveALimitOnlyWhereABackEndAddsThemIn16Bits) {
  const OneLayer dense("Conv", normal_weights(Shape{4, 8, 1, 1}, 1));
  const OneLayer depthwise("Conv", normal_weights(Shape{8, 1, 3, 3}, 1), 8);
  const auto limit = [](const OneLayer& net, const Target& target) {
    return pair_limit_of(net.graph, net.node, net.layer().layout, target);
  };
  EXPECT_EQ(limit(dense, find_target("cpu")), 128);
  EXPECT_EQ(limit(dense, find_target("onnxruntime")), 128);
  EXPECT_EQ(limit(depthwise, find_target("cpu")), 0);
  EXPECT_EQ(limit(dense, find_target("qtool")), 0);
  TypeChoices types;
  types.activation_bits = 7;
  EXPECT_EQ(limit(dense, with_choices(find_target("cpu"), types)), 0);  // 127 + 127 < 258
  types.activation_dtype = DType::kInt8;  // ONNX Runtime adds 128 to these
  EXPECT_EQ(limit(dense, with_choices(find_target("cpu"), types)), 171);
}

}  // namespace
}  // namespace qtool
