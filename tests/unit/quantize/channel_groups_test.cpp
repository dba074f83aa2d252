// Tests which channels of a network can be scaled, and which of them only together.
#include "quantize/rewrites/channel_groups.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

constexpr ChannelGroup kLocked = ChannelGroup::kLocked;

Net start() {
  Net net;
  net.input("x", {1, 2, 4, 4});
  return net;
}

std::vector<ChannelGroup> channels(const Net& net, const std::string& tensor) {
  return ChannelGroups(net.graph, {}).channels(net.id(tensor));
}

std::size_t distinct(const std::vector<ChannelGroup>& groups) {
  return std::set<ChannelGroup>(groups.begin(), groups.end()).size();
}

std::string shape(Net& net, const std::string& name, std::vector<std::int64_t> dims) {
  const Shape of_it{std::ssize(dims)};
  return net.constant(name, Tensor::of<std::int64_t>(of_it, dims));
}

TEST(ChannelGroups, BeginAtLayersAndEndAtInputsAndOutputs) {
  Net net = start();
  net.output(net.conv("b", net.op("Relu", "relu", {net.conv("a", "x", 2)}), 2));
  EXPECT_THAT(channels(net, "x"), Each(kLocked));
  EXPECT_EQ(distinct(channels(net, "a_out")), 2U);
  EXPECT_EQ(channels(net, "relu_out"), channels(net, "a_out"));
  EXPECT_THAT(channels(net, "a_out"), Each(testing::Ne(kLocked)));
  EXPECT_THAT(channels(net, "b_out"), Each(kLocked));
  EXPECT_THAT(ChannelGroups(net.graph, {}).layers(), SizeIs(2));
}

TEST(ChannelGroups, OfTheOperandsOfAnAddAreOne) {
  Net net = start();
  const auto a = net.conv("a", "x");
  const auto b = net.conv("b", a);
  net.output(net.conv("c", net.op("Add", "sum", {a, b})));
  EXPECT_EQ(channels(net, a), channels(net, b));
  EXPECT_EQ(channels(net, "sum_out"), channels(net, a));
  EXPECT_EQ(distinct(channels(net, a)), 2U);
}

TEST(ChannelGroups, GoThroughAChannelShuffle) {
  Net net = start();
  const auto both = net.op("Concat", "both", {net.conv("a", "x"), net.conv("b", "x")},
                           {{"axis", std::int64_t{1}}});
  const auto apart = net.op("Reshape", "apart", {both, shape(net, "five", {1, 2, 2, 4, 4})});
  const auto turned =
      net.op("Transpose", "turned", {apart}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3, 4}}});
  const auto mixed = net.op("Reshape", "mixed", {turned, shape(net, "four", {1, 4, 4, 4})});
  net.output(net.conv("c", mixed, 4));
  const auto before = channels(net, both);
  const auto after = channels(net, mixed);
  EXPECT_EQ(after, (std::vector{before[0], before[2], before[1], before[3]}));
  EXPECT_EQ(distinct(after), 4U);
  EXPECT_THAT(channels(net, apart), IsEmpty());  // its axis 1 is not the channels
}

TEST(ChannelGroups, OfAProductLieAlongItsLastAxis) {
  Net net = start();
  const auto flat =
      net.op("Reshape", "flat", {net.conv("a", "x"), shape(net, "three", {1, 2, 16})});
  const auto tokens =
      net.op("Transpose", "tokens", {flat}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  net.constant("w", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  net.constant("v", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const auto product = net.op("Relu", "relu", {net.op("MatMul", "product", {tokens, "w"})});
  net.output(net.op("MatMul", "last", {product, "v"}));
  const ChannelGroups groups(net.graph, {});
  EXPECT_EQ(groups.axis(net.id(flat)), 1);
  EXPECT_EQ(groups.axis(net.id(tokens)), 2);
  EXPECT_EQ(groups.channels(net.id(tokens)), groups.channels(net.id(flat)));
  EXPECT_EQ(distinct(groups.channels(net.id(tokens))), 2U);
  EXPECT_THAT(groups.channels(net.id(tokens)), Each(testing::Ne(kLocked)));
  EXPECT_EQ(groups.axis(net.id(product)), 2);
  EXPECT_EQ(distinct(groups.channels(net.id(product))), 3U);
  EXPECT_TRUE(groups.is_observed_along_axis(net.id(product)));
  EXPECT_FALSE(groups.is_observed_along_axis(net.id("product_out")));  // no product reads it
  EXPECT_THAT(groups.layers(), SizeIs(3));
}

// A product reads the last axis, a convolution wrote the channels to axis 1.
TEST(ChannelGroups, AreLockedWhereAProductReadsAnotherAxis) {
  Net net;
  net.input("x", {1, 2, 4, 2});  // as many channels as columns
  net.constant("w", Tensor::of<float>({2, 1}, {1, 2}));
  net.output(net.op("MatMul", "product", {net.conv("a", "x"), "w"}));
  EXPECT_THAT(channels(net, "a_out"), Each(kLocked));
}

TEST(ChannelGroups, AreLockedWhereAConvolutionReadsAnotherAxis) {
  Net net;
  net.input("x", {1, 2, 4, 2});
  net.constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  net.output(net.conv("a", net.op("Relu", "relu", {net.op("MatMul", "product", {"x", "w"})})));
  EXPECT_THAT(channels(net, "product_out"), Each(kLocked));
}

TEST(ChannelGroups, AreLockedBesideABiasPerRow) {
  Net net;
  net.input("x", {2, 3});
  net.constant("w", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  net.constant("v", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  net.constant("by_row", Tensor::of<float>({2, 1}, {1, 2}));
  net.output(net.op("MatMul", "last", {net.op("Gemm", "first", {"x", "w", "by_row"}), "v"}));
  EXPECT_THAT(channels(net, "first_out"), Each(kLocked));
}

TEST(ChannelGroups, AreLockedByAResizeThatWritesAConstant) {
  for (const float beside : {0.0F, 1.0F}) {
    Net net = start();
    net.constant("roi", Tensor::of<float>({8}, {0, 0, 0, 0, 1, 1, 2, 2}));
    const auto resized = net.op(
        "Resize", "resize", {net.conv("a", "x"), "roi", "", shape(net, "sizes", {1, 2, 8, 8})},
        {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
         {"extrapolation_value", beside}});
    net.output(net.conv("b", resized));
    EXPECT_EQ(channels(net, "a_out")[0] == kLocked, beside != 0.0F);
  }
}

TEST(ChannelGroups, OfZerosThatAPadAddsTakeAnyFactor) {
  Net net = start();
  const auto padded =
      net.op("Pad", "pad", {net.conv("a", "x"), shape(net, "pads", {0, 1, 1, 0, 0, 1, 0, 0})});
  net.output(net.conv("c", padded, 4));
  const auto groups = channels(net, padded);
  ASSERT_THAT(groups, SizeIs(4));
  EXPECT_EQ(groups[0], ChannelGroup::kZero);
  EXPECT_EQ(groups[1], channels(net, "a_out")[0]);
  EXPECT_EQ(groups[3], ChannelGroup::kZero);
}

TEST(ChannelGroups, AreLockedWhereAFactorWouldChangeTheResult) {
  const auto locked = [](auto&& body) {
    Net net = start();
    const auto a = net.conv("a", "x");
    net.output(net.conv("z", body(net, a)));
    return channels(net, a);
  };
  EXPECT_THAT(locked([](Net& n, const std::string& a) { return n.op("Sigmoid", "s", {a}); }),
              Each(kLocked));
  EXPECT_THAT(locked([](Net& n, const std::string& a) {
                return n.op("Mul", "m", {a, a});
              }),
              Each(kLocked));
  EXPECT_THAT(locked([](Net& n, const std::string& a) {
                n.constant("one", Tensor::of<float>(Shape{1, 2, 1, 1}, std::vector{1.0F, 2.0F}));
                return n.op("Add", "plus", {a, "one"});
              }),
              Each(kLocked));
  EXPECT_THAT(locked([](Net& n, const std::string& a) {
                n.constant("low", Tensor::scalar<float>(-1.0F));
                return n.op("Clip", "clip", {a, "low"});
              }),
              Each(kLocked));
  EXPECT_THAT(locked([](Net& n, const std::string& a) {
                n.constant("value", Tensor::scalar<float>(1.0F));
                return n.op("Pad", "pad", {a, shape(n, "pads", {0, 0, 1, 1, 0, 0, 1, 1}), "value"});
              }),
              Each(kLocked));
  // A node that reads only the shape does not lock the channels.
  EXPECT_THAT(locked([](Net& n, const std::string& a) {
                return n.op("Reshape", "r", {a, n.op("Shape", "shape", {a})});
              }),
              Each(testing::Ne(kLocked)));
}

TEST(ChannelGroups, AreLockedAtWeightsThatTwoLayersShare) {
  Net net = start();
  const auto a = net.conv("a", "x");
  net.output(net.op("Conv", "again", {net.op("Relu", "relu", {a}), "a_w", "a_b"}));
  EXPECT_THAT(channels(net, a), Each(kLocked));
}

}  // namespace
}  // namespace qtool
