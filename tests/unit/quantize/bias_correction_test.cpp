#include "quantize/bias_correction.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/rounding/rounding.h"
#include "quantize/weights/weight_ports.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr Scheme kCoarseWeights{DType::kInt8, 4, Symmetry::kSymmetric};

struct LayerCase {
  std::string op_type;
  Shape weight;
  Shape input;
  Node::AttributeMap attributes;
};

std::vector<float> random_values(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal(0.3F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

Graph graph_of(const LayerCase& layer, const Tensor& weights) {
  Graph graph;
  graph.info.opsets[""] = 17;
  std::vector<Dim> dims;
  for (const std::int64_t extent : layer.input.dims()) dims.push_back(Dim{extent, ""});
  const ValueId x = graph.add_value("x");
  graph.declare(x, DType::kFloat32, dims);
  graph.add_input(x);
  Node node;
  node.op_type = layer.op_type;
  node.attributes = layer.attributes;
  const ValueId y = graph.add_value("y");
  node.inputs = {x, graph.add_constant("w", weights.clone())};
  node.outputs = {y};
  graph.add_node(std::move(node));
  graph.add_output(y);
  return graph;
}

/// The mean of every output channel (axis 1).
std::vector<double> channel_means(const TensorView& tensor) {
  const auto values = tensor.values<float>();
  const auto channels = static_cast<std::size_t>(tensor.shape[1]);
  const std::size_t inner = values.size() / channels / static_cast<std::size_t>(tensor.shape[0]);
  std::vector<double> means(channels);
  for (std::size_t i = 0; i < values.size(); ++i) means[i / inner % channels] += values[i];
  for (double& mean : means) mean /= static_cast<double>(values.size() / channels);
  return means;
}

std::vector<double> output_means(const LayerCase& layer, const Tensor& weights,
                                 const Tensor& input) {
  const Executor executor(graph_of(layer, weights));
  Workspace workspace;
  const TensorView view(input);
  return channel_means(executor.compile({{"x", layer.input}})->run({&view, 1}, workspace)[0]);
}

/// Compares the predicted shift with the mean outputs of the layer, with the exact and with the
/// rounded weights.
void expect_predicted(const LayerCase& layer, bool flat_images,
                      const Scheme& scheme = kCoarseWeights) {
  std::mt19937 random(7);
  const Tensor weights =
      Tensor::of<float>(layer.weight, random_values(layer.weight.elements(), random));
  Tensor input = Tensor::of<float>(layer.input, random_values(layer.input.elements(), random));
  if (flat_images) {  // every window of a channel has the mean of the channel
    const auto values = input.values<float>();
    const std::int64_t inner = layer.input[2] * layer.input[3];
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = values[i - i % static_cast<std::size_t>(inner)];
    }
  }
  const Graph graph = graph_of(layer, weights);
  const NodeId node = graph.nodes()[0];
  const WeightPorts ports = weight_ports(graph, node).value();
  std::vector<float> means;
  for (const double mean : channel_means(TensorView(input)))
    means.push_back(static_cast<float>(mean));
  Layer staged = begin_layer(graph, node, ports, scheme, {std::nullopt, means});
  choose_scales(staged, "absmax", Granularity::kPerChannel);
  round_weights(staged, find_rounding("nearest"));
  const Tensor& integers = staged.integers;
  Tensor coarse(DType::kFloat32, layer.weight);
  std::int64_t inner = 1;  // weights between neighbouring channels
  for (std::int64_t axis = ports.axis + 1; axis < layer.weight.rank(); ++axis) {
    inner *= layer.weight[axis];
  }
  for (std::size_t i = 0; i < coarse.values<float>().size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto channel = static_cast<std::size_t>(at / inner % ports.channels);
    coarse.values<float>()[i] =
        dequantize_value(integers.values<std::int8_t>()[i], staged.affines.at(channel));
  }
  const auto before = output_means(layer, weights, input);
  const auto after = output_means(layer, coarse, input);
  const auto shift = weight_bias_shift(graph, staged);
  ASSERT_EQ(shift.size(), before.size());
  double largest = 0.0;
  for (std::size_t c = 0; c < shift.size(); ++c) {
    EXPECT_NEAR(shift[c], after[c] - before[c], 1e-4) << "channel " << c;
    largest = std::max(largest, std::abs(shift[c]));
  }
  EXPECT_GT(largest, 0.01);  // 4-bit weights do shift the means
}

TEST(WeightBiasShift, IsTheChangeOfTheMeanOutputOfAPointwiseConvolution) {
  expect_predicted({"Conv", Shape{6, 10, 1, 1}, Shape{3, 10, 5, 4}, {}}, false);
}

TEST(WeightBiasShift, KnowsZeroPointsOfWeights) {
  expect_predicted({"Conv", Shape{6, 10, 1, 1}, Shape{3, 10, 5, 4}, {}}, false,
                   {DType::kInt8, 4, Symmetry::kAsymmetric});
}

TEST(WeightBiasShift, FollowsGroups) {
  expect_predicted({"Conv", Shape{6, 2, 1, 1}, Shape{3, 6, 5, 4}, {{"group", std::int64_t{3}}}},
                   false);
}

TEST(WeightBiasShift, AddsUpTheTapsOfADepthwiseConvolution) {
  expect_predicted({"Conv", Shape{6, 1, 3, 3}, Shape{2, 6, 5, 5}, {{"group", std::int64_t{6}}}},
                   true);
}

TEST(WeightBiasShift, ReadsBothOrientationsOfAMatrix) {
  expect_predicted({"Gemm", Shape{7, 12}, Shape{5, 12}, {{"transB", std::int64_t{1}}}}, false);
  expect_predicted({"MatMul", Shape{12, 7}, Shape{5, 12}, {}}, false);
}

TEST(WeightBiasShift, SpreadsTheTapsOfATransposedConvolutionOverItsStrides) {
  expect_predicted({"ConvTranspose",
                    Shape{6, 5, 2, 3},
                    Shape{2, 6, 4, 4},
                    {{"strides", std::vector<std::int64_t>{2, 3}}}},
                   false);
}

TEST(WeightBiasShift, IsEmptyWithoutFittingMeans) {
  const LayerCase layer{"Conv", Shape{6, 10, 1, 1}, Shape{3, 10, 5, 4}, {}};
  const Tensor weights(DType::kFloat32, layer.weight);
  const Graph graph = graph_of(layer, weights);
  const NodeId node = graph.nodes()[0];
  const WeightPorts ports = weight_ports(graph, node).value();
  const std::vector<float> five(5, 1.0F);
  for (const std::span<const float> means :
       {std::span<const float>(five), std::span<const float>()}) {
    Layer staged = begin_layer(graph, node, ports, Scheme{}, {std::nullopt, means});
    staged.affines = {std::vector<float>(6, 1.0F), {}};
    staged.integers = Tensor(DType::kInt8, layer.weight);
    EXPECT_TRUE(weight_bias_shift(graph, staged).empty());
  }
}

// On an image of ones, weights that are 1 at only one tap give 1 where that tap reads the image,
// and 0 where it reads padding.
TEST(BiasCorrection, CountsTheTapsThatReadPadding) {
  using Ints = std::vector<std::int64_t>;
  const std::vector<LayerCase> cases = {
      {"Conv", {15, 1, 3, 5}, {1, 1, 7, 4}, {{"pads", Ints{1, 2, 1, 3}}}},
      {"Conv", {15, 1, 3, 5}, {1, 1, 1, 2}, {{"pads", Ints{2, 4, 3, 5}}, {"strides", Ints{2, 3}}}},
      {"Conv",
       {9, 1, 3, 3},
       {1, 1, 6, 9},
       {{"pads", Ints{4, 0, 7, 2}}, {"strides", Ints{3, 2}}, {"dilations", Ints{2, 3}}}},
      {"Conv", {4, 1, 4}, {1, 1, 5}, {{"pads", Ints{3, 9}}, {"strides", Ints{2}}}},
  };
  for (const LayerCase& layer : cases) {
    Tensor weights(DType::kFloat32, layer.weight);
    const std::int64_t taps = layer.weight[0];
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      weights.values<float>()[static_cast<std::size_t>(tap * taps + tap)] = 1.0F;
    }
    const Graph graph = graph_of(layer, weights);
    Tensor ones(DType::kFloat32, layer.input);
    for (float& value : ones.values<float>()) value = 1.0F;
    const TensorView view = ones;
    Workspace workspace;
    const auto plan = Executor(graph).compile({});
    const std::vector<double> expected =
        channel_means(plan->run(std::span(&view, 1), workspace).front());
    const NodeId node = graph.nodes()[0];
    const std::vector<double> found =
        tap_shares(graph, node, weight_ports(graph, node).value(), layer.input);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
  }
}

// Of each direction a recurrent layer has the biases of W, then those of R.
TEST(BiasCorrection, LeavesARecurrentLayerWhoseBiasesDoNotFit) {
  const auto takes = [](Shape bias) {
    Net net;
    net.input("x", {3, 1, 64});
    net.constant("w", Tensor(DType::kFloat32, {1, 24, 64}));
    net.constant("r", Tensor(DType::kFloat32, {1, 24, 8}));
    net.constant("b", Tensor(DType::kFloat32, std::move(bias)));
    net.output(net.op("GRU", "gru", {"x", "w", "r", "b"}));
    const NodeId layer = net.graph.nodes()[0];
    return takes_bias(net.graph, layer, stored_weight_ports(net.graph, layer).front(),
                      find_target("cpu"));
  };
  EXPECT_TRUE(takes({1, 48}));
  EXPECT_FALSE(takes({1, 47}));
  EXPECT_FALSE(takes({48}));
}

}  // namespace
}  // namespace qtool
