#include "on_images/network_by_depth.h"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kRunSamples = 3;
constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

/// A convolution, two branches of which one has a second convolution, their sum, and a product
/// behind a Reshape to an extent that the network computes. Each branch is read one depth later,
/// too.
struct BranchedNet {
  BranchedNet() {
    net.input("image", {1, 3, 6, 6});
    for (const auto& [name, inputs] :
         std::map<std::string, std::int64_t>{{"a", 3}, {"b", 4}, {"c", 4}}) {
      net.constant(name + "_w", normal_floats(Shape{4, inputs, 1, 1}, seed++, 0.0F, 0.4F));
    }
    net.constant("d_w", normal_floats(Shape{144, 5}, seed, 0.0F, 0.4F));
    net.constant("first", Tensor::of<std::int64_t>(Shape{1}, {0}));
    net.constant("rest", Tensor::of<std::int64_t>(Shape{1}, {-1}));
    net.op("Conv", "a", {"image", "a_w"});
    net.op("Relu", "relu", {"a_out"});
    net.op("Conv", "b", {"relu_out", "b_w"});
    net.op("Conv", "c", {"b_out", "c_w"});
    net.op("Add", "sum", {"c_out", "relu_out"});
    net.op("Shape", "shape", {"sum_out"});
    net.op("Gather", "extent", {"shape_out", "first"});
    net.op("Concat", "to", {"extent_out", "rest"}, {{"axis", std::int64_t{0}}});
    net.op("Reshape", "flat", {"sum_out", "to_out"});
    net.output(net.op("MatMul", "d", {"flat_out", "d_w"}));
  }

  [[nodiscard]] NetworkByDepth::Target target(std::int64_t depth) const {
    static constexpr std::array<const char*, 4> kLayers = {"a", "b", "c", "d"};
    NetworkByDepth::Target target{net.graph, {}, depth, {}};
    for (const NodeId id : net.graph.nodes()) {
      for (const std::string layer : kLayers) {
        if (net.graph.node(id).name == layer) target.layers.push_back(id);
      }
    }
    target.results = {to_text(kLayers.at(static_cast<std::size_t>(depth - 1)), "_out")};
    return target;
  }

  Net net;
  unsigned seed = 1;
};

/// The results of all depths, [depth][sample]. `needed`: the number of runs that needed the inputs.
/// `most_bytes`: what the network may keep.
std::vector<std::vector<Tensor>> results_of(NetworkByDepth& network, const BranchedNet& net,
                                            std::int64_t& needed, std::int64_t most_bytes) {
  std::vector<std::vector<Tensor>> results;
  for (std::int64_t depth = 1; depth <= 4; ++depth) {
    network.go_to(net.target(depth));
    std::vector<Tensor>& of_depth = results.emplace_back();
    for (std::int64_t sample = 0; sample < kRunSamples; ++sample) {
      std::vector<Tensor> inputs;
      if (network.needs_inputs(sample)) {
        ++needed;
        inputs.push_back(
            normal_floats(Shape{1, 3, 6, 6}, 50 + static_cast<unsigned>(sample), 0, 1));
      }
      Workspace workspace;
      network.run(
          sample, inputs, {{"image", Shape{1, 3, 6, 6}}}, workspace,
          [&](std::size_t, const TensorView& tensor) { of_depth.push_back(to_tensor(tensor)); });
    }
    EXPECT_LE(network.kept_bytes(), most_bytes);
  }
  return results;
}

TEST(NetworkByDepthTest, CountsLayersOnTheLongestPath) {
  const BranchedNet net;
  const IdMap<ValueId, std::int64_t> depths = depths_of(net.net.graph, net.target(1).layers);
  const auto depth = [&](const char* name) {
    return depths[net.net.graph.find_value(name).value()];
  };
  EXPECT_EQ(depth("image"), 0);
  EXPECT_EQ(depth("d_w"), 0);
  EXPECT_EQ(depth("relu_out"), 1);
  EXPECT_EQ(depth("b_out"), 2);
  EXPECT_EQ(depth("sum_out"), 3);
  EXPECT_EQ(depth("d_out"), 4);
}

TEST(NetworkByDepthTest, GivesTheSameResultsFromKeptTensorsAndFromTheInputs) {
  const BranchedNet net;
  const InputShapes shapes{{"image", Shape{1, 3, 6, 6}}};
  NetworkByDepth keeping(kRunSamples, shapes, kPlenty);
  NetworkByDepth forgetting(kRunSamples, shapes, 0);
  std::array<std::int64_t, 2> needed{};
  const auto results = results_of(keeping, net, needed[0], kPlenty);
  ASSERT_EQ(results.size(), 4U);
  const auto other = results_of(forgetting, net, needed[1], 0);
  for (std::size_t depth = 0; depth < 4; ++depth) {
    for (std::size_t i = 0; i < kRunSamples; ++i) {
      EXPECT_TRUE(identical(results[depth].at(i), other[depth].at(i))) << depth << ' ' << i;
    }
  }
  EXPECT_EQ(needed[0], kRunSamples);
  EXPECT_EQ(needed[1], 4 * kRunSamples);
}

TEST(NetworkByDepthTest, KeepsNoMoreThanItMay) {
  const BranchedNet net;
  // One sample keeps the image, then relu_out, then relu_out and b_out: 432, 576 and 1152 bytes.
  constexpr std::int64_t kMost = 1200;
  NetworkByDepth network(kRunSamples, {{"image", Shape{1, 3, 6, 6}}}, kMost);
  std::int64_t needed = 0;
  static_cast<void>(results_of(network, net, needed, kMost));
  // The first sample always fits, the second one at two depths, the third one never.
  EXPECT_EQ(needed, 1 + 2 + 4);
}

/// Runs one sample at depths 1 to `depths`, once from kept tensors and once from the inputs. The
/// results must be the same. Returns the bytes that were kept after each depth.
std::vector<std::int64_t> kept_while_equal(
    const std::function<NetworkByDepth::Target(std::int64_t)>& target, std::int64_t depths) {
  const Shape shape{1, 3, 6, 6};
  const InputShapes shapes{{"image", shape}};
  std::vector<Tensor> inputs;
  inputs.push_back(normal_floats(shape, 9, 0.0F, 1.0F));
  NetworkByDepth keeping(1, shapes, kPlenty);
  NetworkByDepth forgetting(1, shapes, 0);
  std::vector<std::int64_t> bytes;
  for (std::int64_t depth = 1; depth <= depths; ++depth) {
    const auto run = [&](NetworkByDepth& network) {
      network.go_to(target(depth));
      Workspace workspace;
      Tensor result;
      network.run(0, inputs, shapes, workspace,
                  [&](std::size_t, const TensorView& tensor) { result = to_tensor(tensor); });
      return result;
    };
    EXPECT_TRUE(identical(run(keeping), run(forgetting))) << "depth " << depth;
    bytes.push_back(keeping.kept_bytes());
  }
  return bytes;
}

std::vector<NodeId> nodes_of(const Graph& graph, const std::string& op_type) {
  std::vector<NodeId> found;
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op_type == op_type) found.push_back(id);
  }
  return found;
}

// Layer b reads a tensor whose shape is that of layer a's result, so it is one depth deeper. With
// concrete shapes nothing leads from a to b. But b is corrected after a, so c must not start from
// the result of b without its correction.
TEST(NetworkByDepthTest, KeepsDepthsThatOnlyShapesMake) {
  const auto target = [](std::int64_t depth) {
    Net net;
    net.input("image", {1, 3, 6, 6});
    for (const std::string name : {"a", "b", "c"}) {
      net.constant(name + "_w", normal_floats(Shape{3, 3, 1, 1}, 4, 0.0F, 0.4F));
    }
    net.constant("b_b", Tensor::of<float>(Shape{3}, {depth > 2 ? 0.5F : 0.0F, 0.0F, 0.0F}));
    net.op("Conv", "a", {"image", "a_w"});
    net.op("Shape", "shape", {"a_out"});
    net.op("Reshape", "reshaped", {"image", "shape_out"});
    net.op("Conv", "b", {"reshaped_out", "b_w", "b_b"});
    net.op("Relu", "relu", {"b_out"});
    net.output(net.op("Conv", "c", {"relu_out", "c_w"}));
    const std::vector<NodeId> layers = nodes_of(net.graph, "Conv");
    const char* result = depth == 1 ? "a_out" : depth == 2 ? "b_out" : "c_out";
    return NetworkByDepth::Target{std::move(net.graph), layers, depth, {result}};
  };
  kept_while_equal(target, 3);
}

// Signed integers are lowered together with their QuantizeLinear, so their reals are kept. Weights
// behind a QuantizeLinear of their own are the same for all samples.
TEST(NetworkByDepthTest, KeepsRealsOfSignedIntegersAndNoWeights) {
  const auto target = [](std::int64_t depth) {
    Net net;
    net.input("image", {1, 3, 6, 6});
    net.constant("s", Tensor::scalar<float>(0.02F));
    net.constant("z", Tensor::scalar<std::int8_t>(0));
    const auto pair = [&](const std::string& name, const std::string& of) {
      net.op("QuantizeLinear", name + "_q", {of, "s", "z"});
      return net.op("DequantizeLinear", name + "_dq", {name + "_q_out", "s", "z"});
    };
    for (const std::string name : {"a", "b"}) {
      net.constant(name + "_w", normal_floats(Shape{3, 3, 1, 1}, 4, 0.0F, 0.4F));
      pair(name + "_w", name + "_w");
    }
    net.op("Conv", "a", {pair("image", "image"), "a_w_dq_out"});
    net.output(net.op("Conv", "b", {pair("mid", "a_out"), "b_w_dq_out"}));
    const std::vector<NodeId> layers = nodes_of(net.graph, "Conv");
    return NetworkByDepth::Target{
        std::move(net.graph), layers, depth, {depth == 1 ? "a_out" : "b_out"}};
  };
  constexpr std::int64_t kImageBytes = 3 * 6 * 6 * 4;
  EXPECT_THAT(kept_while_equal(target, 2), testing::ElementsAre(kImageBytes, 0));
}

TEST(NetworkByDepthTest, RunsSamplesOfOtherShapesFromTheInputs) {
  Net net;
  const ValueId image = net.graph.add_value("image");
  net.graph.declare(image, DType::kFloat32,
                    std::vector<Dim>{{1, ""}, {3, ""}, {{}, "h"}, {{}, "w"}});
  net.graph.add_input(image);
  net.constant("a_w", normal_floats(Shape{2, 3, 1, 1}, 1, 0.0F, 0.4F));
  net.constant("b_w", normal_floats(Shape{2, 2, 1, 1}, 2, 0.0F, 0.4F));
  net.op("Conv", "a", {"image", "a_w"});
  net.output(net.op("Conv", "b", {"a_out", "b_w"}));
  const std::vector<NodeId> layers = net.graph.nodes();
  NetworkByDepth network(2, {{"image", Shape{1, 3, 6, 6}}}, kPlenty);
  std::array<Shape, 2> of_b;
  for (std::int64_t depth = 1; depth <= 2; ++depth) {
    network.go_to({net.graph, layers, depth, {depth == 1 ? "a_out" : "b_out"}});
    EXPECT_EQ(network.needs_inputs(0), depth == 1);
    EXPECT_TRUE(network.needs_inputs(1));
    for (const std::int64_t sample : {0, 1}) {
      std::vector<Tensor> inputs;
      const Shape shape{1, 3, 6 - sample, 6};
      inputs.push_back(normal_floats(shape, 3, 0.0F, 1.0F));
      Workspace workspace;
      network.run(sample, inputs, {{"image", shape}}, workspace,
                  [&](std::size_t, const TensorView& tensor) {
                    of_b.at(static_cast<std::size_t>(sample)) = tensor.shape;
                  });
    }
  }
  EXPECT_EQ(of_b[0], (Shape{1, 2, 6, 6}));
  EXPECT_EQ(of_b[1], (Shape{1, 2, 5, 6}));
}

}  // namespace
}  // namespace qtool
