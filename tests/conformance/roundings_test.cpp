// Checks the promises of every rounding method.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "quantize/rounding/rounding.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

class Roundings : public ::testing::TestWithParam<std::tuple<std::string_view, int, Symmetry>> {
 protected:
  /// A convolution with normal weights; one channel holds zeros.
  static Layer scaled_layer(unsigned seed) {
    const auto [name, bits, symmetry] = GetParam();
    Graph graph;
    Tensor weights(DType::kFloat32, Shape{5, 3, 3, 3});
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto values = weights.values<float>();
    for (std::size_t i = 27; i < values.size(); ++i) values[i] = normal(random);
    Node node;
    node.op_type = "Conv";
    node.inputs = {graph.add_value("x"), graph.add_constant("w", std::move(weights))};
    node.outputs = {graph.add_value("y")};
    graph.add_input(node.inputs[0]);
    const NodeId id = graph.add_node(std::move(node));
    Layer layer =
        begin_layer(graph, id, weight_ports(graph, id).value(), {DType::kInt8, bits, symmetry});
    choose_scales(layer, "absmax", Granularity::kPerChannel);
    return layer;
  }
};

TEST_P(Roundings, StaysNextToTheWeightsAndWithinTheScheme) {
  const RoundingInfo& rounding = find_rounding(std::get<0>(GetParam()));
  for (unsigned seed = 1; seed <= 4; ++seed) {
    Layer layer = scaled_layer(seed);
    round_weights(layer, rounding);  // checks type, shape and limits
    const auto integers = layer.integers.values<std::int8_t>();
    const auto weights = layer.weights.values<float>();
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const std::size_t channel = i / 27;
      const auto [scale, zero] = layer.affines.at(channel);
      const float back = scale * static_cast<float>(integers[i] - zero);
      // A method may choose either neighbouring integer. A weight beyond the limits is moved by at
      // most one step when it saturates.
      EXPECT_LE(std::abs(back - weights[i]), 1.01F * scale) << i;
      if (channel == 0) {
        EXPECT_EQ(integers[i], zero) << i;
      }
    }
  }
}

TEST_P(Roundings, GivesTheSameIntegersAgain) {
  const RoundingInfo& rounding = find_rounding(std::get<0>(GetParam()));
  Layer one = scaled_layer(9);
  Layer two = scaled_layer(9);
  round_weights(one, rounding);
  round_weights(two, rounding);
  const auto a = one.integers.values<std::int8_t>();
  const auto b = two.integers.values<std::int8_t>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

INSTANTIATE_TEST_SUITE_P(
    List, Roundings,
    ::testing::Combine(::testing::ValuesIn([] {
                         std::vector<std::string_view> names;
                         for (const RoundingInfo& row : roundings()) names.push_back(row.name);
                         return names;
                       }()),
                       ::testing::Values(2, 4, 8),
                       ::testing::Values(Symmetry::kSymmetric, Symmetry::kAsymmetric)),
    [](const auto& row) {
      return std::string(std::get<0>(row.param)) + "_" + std::to_string(std::get<1>(row.param)) +
             (std::get<2>(row.param) == Symmetry::kSymmetric ? "_symmetric" : "_asymmetric");
    });

}  // namespace
}  // namespace qtool
