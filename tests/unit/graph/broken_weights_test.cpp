#include "qtool/graph/broken_weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Net with_matmuls(float first, float second) {
  Net net;
  net.input("x", {1, 2});
  net.constant("a", Tensor::of<float>({2, 2}, {1.0F, first, 3.0F, first}));
  net.constant("b", Tensor::of<float>({2, 2}, {second, 1.0F, 2.0F, 3.0F}));
  net.output(net.op("MatMul", "second", {net.op("MatMul", "first", {"x", "a"}), "b"}));
  return net;
}

TEST(FindBrokenWeights, NamesTheFirstTensorAndCounts) {
  const BrokenWeights found = find_broken_weights(with_matmuls(kNan, -kInfinity).graph);
  EXPECT_EQ(found.first, "a");
  EXPECT_EQ(found.broken, 2);
  EXPECT_EQ(found.numbers, 4);
  EXPECT_EQ(found.tensors, 2);
}

TEST(FindBrokenWeights, FindsNothingInNumbers) {
  EXPECT_EQ(find_broken_weights(with_matmuls(0.0F, 1e38F).graph).tensors, 0);
}

// Infinity has a meaning in an attention mask and in the bounds of a Clip.
TEST(FindBrokenWeights, LeavesInfinityWhereItHasAMeaning) {
  Net net = with_matmuls(1.0F, 1.0F);
  net.constant("mask", Tensor::of<float>({2}, {0.0F, -kInfinity}));
  net.constant("most", Tensor::scalar(kInfinity));
  net.output(net.op("Clip", "clip", {net.op("Add", "add", {"x", "mask"}), "", "most"}));
  EXPECT_EQ(find_broken_weights(net.graph).tensors, 0);
  net.constant("none", Tensor::of<float>({2}, {0.0F, kNan}));
  net.output(net.op("Add", "broken", {"x", "none"}));
  EXPECT_EQ(find_broken_weights(net.graph).first, "none");
}

TEST(FindBrokenWeights, CountsATensorOnceHoweverItIsRead) {
  Net net = with_matmuls(1.0F, kInfinity);
  net.output(net.op("Add", "again", {"x", "b"}));
  net.constant("c", Tensor::of<float>({2, 2}, {kInfinity, 0.0F, 0.0F, kNan}));
  net.output(net.op("Add", "sum", {"x", "c"}));
  net.output(net.op("MatMul", "product", {"x", "c"}));
  const BrokenWeights found = find_broken_weights(net.graph);
  EXPECT_EQ(found.first, "b");
  EXPECT_EQ(found.tensors, 2);
}

}  // namespace
}  // namespace qtool
