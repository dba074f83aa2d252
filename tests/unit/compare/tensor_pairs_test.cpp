#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/compare/infer.h"
#include "qtool/exec/executor.h"
#include "unit/quantize_net.h"
#include "unit/values_of.h"

namespace qtool {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

// x -> Relu -> Neg; the INT8 model rounds the input and the result of Relu, by given scales.
Graph paired_network() {
  Net net;
  net.input("x", {1, 4});
  net.op("Relu", "relu", {"x"});
  net.output(net.op("Neg", "last", {"relu_out"}));
  return std::move(net.graph);
}

Graph twice_rounded(std::vector<float> scales) {
  Net net;
  net.input("x", {1, 4});
  net.constant("s", Tensor::scalar<float>(0.5F));
  net.constant("z", Tensor::scalar<std::uint8_t>(4));
  const std::string q = net.op("QuantizeLinear", "q", {"x", "s", "z"});
  const std::string dq = net.op("DequantizeLinear", "dq", {q, "s", "z"});
  const std::string relu = net.op("Relu", "relu", {dq});
  const auto count = static_cast<std::int64_t>(scales.size());
  const Shape shape = count == 1 ? Shape{} : Shape{count};
  net.constant("s2", Tensor::of<float>(shape, std::span<const float>(scales)));
  net.constant("z2", Tensor(DType::kInt8, shape));
  const std::string q2 = net.op("QuantizeLinear", "q2", {relu, "s2", "z2"});
  const std::string dq2 = net.op("DequantizeLinear", "dq2", {q2, "s2", "z2"});
  net.output(net.op("Neg", "last", {dq2}));
  return std::move(net.graph);
}

std::vector<TensorPair> pairs_of(const Graph& fp32, const Graph& int8,
                                 const std::vector<std::string>& patterns) {
  const Executor a(fp32);
  const Executor b(int8);
  const std::vector<Tensor> sample = [] {
    std::vector<Tensor> one;
    one.push_back(Tensor::of<float>({1, 4}, {-9.0F, 0.3F, 1.0F, 2.3F}));
    return one;
  }();
  return TensorPairs(a, &b, sample, patterns, {.threads = 1}).run(sample);
}

TEST(TensorPairs, HoldTheIntegersOfTheModelAndWhatTheyStandFor) {
  const std::vector<TensorPair> pairs = pairs_of(paired_network(), twice_rounded({0.25F}), {"*"});
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].name, "x");
  EXPECT_EQ(pairs[0].int8_name, "q_out");
  EXPECT_THAT(values_of<std::uint8_t>(*pairs[0].integers), ElementsAre(0, 5, 6, 9));
  EXPECT_THAT(values_of<float>(*pairs[0].int8), ElementsAre(-2.0F, 0.5F, 1.0F, 2.5F));
  EXPECT_FLOAT_EQ(static_cast<float>(pairs[0].max_abs_error), 7.0F);
  EXPECT_EQ(pairs[1].op_type, "Relu");
  EXPECT_THAT(values_of<std::int8_t>(*pairs[1].integers), ElementsAre(0, 2, 4, 10));
  EXPECT_THAT(values_of<float>(pairs[1].fp32), ElementsAre(0.0F, 0.3F, 1.0F, 2.3F));
  EXPECT_FALSE(pairs[2].integers);
  EXPECT_THAT(values_of<float>(*pairs[2].int8), ElementsAre(0.0F, -0.5F, -1.0F, -2.5F));
}

TEST(TensorPairs, DequantizeWithAScalePerChannel) {
  const std::vector<TensorPair> pairs =
      pairs_of(paired_network(), twice_rounded({0.25F, 0.5F, 0.125F, 1.0F}), {"relu_*"});
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].affines.axis, 1);
  EXPECT_THAT(values_of<std::int8_t>(*pairs[0].integers), ElementsAre(0, 1, 8, 2));
  EXPECT_THAT(values_of<float>(*pairs[0].int8), ElementsAre(0.0F, 0.5F, 1.0F, 2.0F));
}

TEST(TensorPairs, ATensorThatTheInt8ModelLacksHasNoCounterpart) {
  Net net;
  net.input("x", {1, 4});
  net.output(net.op("Neg", "last", {net.op("Relu", "other", {"x"})}));
  const std::vector<TensorPair> pairs =
      pairs_of(paired_network(), net.graph, {"relu_out", "last_out"});
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_FALSE(pairs[0].int8);
  EXPECT_TRUE(pairs[1].int8);
  EXPECT_EQ(pairs[1].max_abs_error, 0.0);
}

TEST(TensorPairs, APatternThatMatchesNothingNamesWhatIsNear) {
  try {
    pairs_of(paired_network(), paired_network(), {"relu_ou"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("'relu_ou' matches no tensor; did you mean 'relu_out'"));
  }
}

TEST(TensorPairs, ATensorThatWasFoldedIsExplained) {
  Graph graph = paired_network();
  graph.info.aliases["conv_out"] = "relu_out";
  try {
    pairs_of(graph, paired_network(), {"conv_out"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("whose result is 'relu_out'"));
  }
}

}  // namespace
}  // namespace qtool
