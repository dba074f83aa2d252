#include "graph/element_functions.h"

#include <gmock/gmock.h>

#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Net net_with_input() {
  Net net;
  net.input("x", {1, 2, 4, 4});
  for (const float number : {0.0F, 3.0F, 6.0F}) {
    net.constant("c" + std::to_string(static_cast<int>(number)), Tensor::scalar<float>(number));
  }
  return net;
}

// One text for each function: the names of its input, its nodes and its output.
std::vector<std::string> found(const Net& net) {
  std::vector<std::string> texts;
  for (const ElementFunction& function : element_functions(net.graph)) {
    std::string text = net.graph.value(function.input).name;
    for (const NodeId id : function.nodes) text += " " + net.graph.node(id).name;
    texts.push_back(text + " " + net.graph.value(function.output).name);
  }
  return texts;
}

TEST(ElementFunctions, FindsWhatExportersSpellOut) {
  Net silu = net_with_input();
  silu.output(silu.op("Mul", "m", {"x", silu.op("Sigmoid", "s", {"x"})}));
  EXPECT_THAT(found(silu), ElementsAre("x s m m_out"));

  Net swish = net_with_input();
  const auto gate = swish.op("Clip", "c", {swish.op("Add", "a", {"x", "c3"}), "c0", "c6"});
  swish.output(swish.op("Div", "d", {swish.op("Mul", "m", {gate, "x"}), "c6"}));
  EXPECT_THAT(found(swish), ElementsAre("x a c m d d_out"));

  Net mish = net_with_input();
  const auto soft = mish.op("Tanh", "t", {mish.op("Softplus", "p", {"x"})});
  mish.output(mish.op("Mul", "m", {"x", soft}));
  EXPECT_THAT(found(mish), ElementsAre("x p t m m_out"));
}

TEST(ElementFunctions, TakesConstantsOfTheChannels) {
  Net net = net_with_input();
  net.constant("slope", Tensor::of<float>({2, 1, 1}, {0.1F, 0.2F}));
  net.constant("row", Tensor::of<float>({4}, {1.0F, 2.0F, 3.0F, 4.0F}));
  net.output(net.op("PRelu", "p", {"x", "slope"}));
  EXPECT_THAT(found(net), ElementsAre("x p p_out"));
  EXPECT_EQ(channel_axis_from_end(net.graph, net.id("slope")), 3);
  EXPECT_EQ(channel_axis_from_end(net.graph, net.id("row")), std::nullopt);
  EXPECT_EQ(channel_axis_from_end(net.graph, net.id("c3")), std::nullopt);
}

TEST(ElementFunctions, EndsWhereOthersReadOrALayerDoesTheWork) {
  Net read = net_with_input();
  const auto s = read.op("Sigmoid", "s", {"x"});
  read.output(read.op("Mul", "m", {"x", s}));
  read.output(s);
  EXPECT_THAT(found(read), ElementsAre("x s s_out"));

  Net relu = net_with_input();  // the convolution fuses the Relu
  const auto r = relu.op("Relu", "r", {relu.conv("conv", "x")});
  relu.output(relu.op("Mul", "m", {r, relu.op("Sigmoid", "s", {r})}));
  EXPECT_THAT(found(relu), ElementsAre("r_out s m m_out"));

  Net clamps = net_with_input();
  clamps.output(clamps.op("Relu", "r", {clamps.op("Clip", "c", {"x", "c0", "c6"})}));
  EXPECT_THAT(found(clamps), IsEmpty());
}

TEST(ElementFunctions, ReadsOneTensorOnly) {
  Net net = net_with_input();
  net.input("y", {1, 2, 4, 4});
  net.output(net.op("Mul", "m", {"x", net.op("Sigmoid", "s", {"y"})}));
  EXPECT_THAT(found(net), ElementsAre("y s s_out"));
}

TEST(ElementFunctions, EndsOnLongChains) {
  Net net = net_with_input();
  std::string last = "x";
  for (int i = 0; i < 100; ++i) last = net.op("Tanh", "t" + std::to_string(i), {last});
  net.output(last);
  const std::vector<ElementFunction> functions = element_functions(net.graph);
  std::size_t nodes = 0;
  for (const ElementFunction& function : functions) nodes += function.nodes.size();
  EXPECT_EQ(nodes, 100U);
  EXPECT_GT(functions.size(), 1U);
}

}  // namespace
}  // namespace qtool
