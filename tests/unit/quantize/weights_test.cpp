#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "qtool/base/error.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/integer_bias.h"
#include "quantize/weights/integer_weights.h"
#include "quantize/weights/weight_ports.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr Scheme kWeights{DType::kInt8, 8, Symmetry::kSymmetric};

std::vector<float> scales_of(const Tensor& w, std::int64_t axis, std::vector<float> bias = {},
                             float input_scale = 1.0F) {
  return choose_weight_affines(w, axis, "absmax", kWeights, Granularity::kPerChannel, bias,
                               input_scale)
      .scales;
}

TEST(AllFinite, LooksAtEveryValue) {
  EXPECT_TRUE(all_finite({}));
  std::vector<float> values(37, -std::numeric_limits<float>::max());
  values[3] = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(all_finite(values));
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::nanf("1"), -std::nanf("")}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{16}, values.size() - 1}) {
      std::vector<float> broken = values;
      broken[place] = bad;
      EXPECT_FALSE(all_finite(broken)) << bad << " at " << place;
    }
  }
}

TEST(WeightScales, AreTheLargestMagnitudeOfEachChannelOver127) {
  const Tensor w = Tensor::of<float>({2, 3}, {1.0F, -2.54F, 0.5F, 0.0F, 1.27F, -1.0F});
  EXPECT_THAT(scales_of(w, 0), testing::ElementsAre(2.54F / 127, 1.27F / 127));
  EXPECT_THAT(scales_of(w, 1), testing::ElementsAre(1.0F / 127, 2.54F / 127, 1.0F / 127));
  EXPECT_THAT(
      choose_weight_affines(w, 0, "absmax", kWeights, Granularity::kPerTensor, {}, 1.0F).scales,
      testing::ElementsAre(2.54F / 127));
}

TEST(WeightScales, GrowUntilTheBiasFits) {
  const Tensor w = Tensor::of<float>({2, 1}, {1e-12F, 1e-12F});
  const std::vector<float> bias = {2.5F, 0.0F};
  const std::vector<float> scales = scales_of(w, 0, bias, 0.02F);
  const Tensor q = quantize_bias(bias, bias_scales(scales, 2, 0.02F));
  EXPECT_NEAR(q.values<std::int32_t>()[0], 1 << 30, 256);
  EXPECT_FLOAT_EQ(scales[1], 1e-12F / 127);
}

TEST(WeightScales, AreOneForAChannelOfZeros) {
  EXPECT_THAT(scales_of(Tensor(DType::kFloat32, Shape{2, 2}), 0), testing::ElementsAre(1, 1));
}

TEST(WeightScales, AreOneWhereTheProductWithTheInputScaleIsNotANormalFloat) {
  const Tensor w = Tensor::of<float>({2, 1}, {1e-37F, 1e-44F});
  EXPECT_THAT(scales_of(w, 0, {}, 1e-3F), testing::ElementsAre(1, 1));
}

TEST(WeightScales, LeaveRoomForTheBiasBesideManyProducts) {
  const std::int64_t depth = 60000;
  Tensor w(DType::kFloat32, Shape{1, depth});
  for (float& v : w.values<float>()) v = 1e-9F;
  const std::vector<float> bias = {3.0F};
  const auto scales = scales_of(w, 0, bias, 1.0F);
  const Tensor q = quantize_bias(bias, bias_scales(scales, 1, 1.0F));
  EXPECT_GT(q.values<std::int32_t>()[0], 1 << 20);
  EXPECT_LT(q.values<std::int32_t>()[0] + depth * 255 * 127, std::int64_t{1} << 31);
}

TEST(WeightScales, RefuseWhatIsNotFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_THROW(scales_of(Tensor::of<float>({1, 1}, {inf}), 0), Error);
  EXPECT_THROW(scales_of(Tensor::of<float>({1, 1}, {1.0F}), 0, {std::nanf("")}), Error);
}

TEST(QuantizeWeights, StaysWithinHalfAStepAndNeverUsesMinus128) {
  std::mt19937 random(20240817);
  std::normal_distribution<float> values(0.0F, 0.3F);
  Tensor w(DType::kFloat32, Shape{8, 4, 3, 3});
  for (float& v : w.values<float>()) v = values(random);
  for (const std::int64_t axis : {0, 1}) {
    const auto scales = scales_of(w, axis);
    const Tensor q = quantize_weights(w, kWeights, {scales, {}, axis});
    ASSERT_EQ(q.shape(), w.shape());
    for (std::size_t i = 0; i < 288; ++i) {
      const std::size_t channel = axis == 0 ? i / 36 : i / 9 % 4;
      const std::int32_t integer = q.values<std::int8_t>()[i];
      EXPECT_GE(integer, -127);
      EXPECT_LE(std::abs(w.values<float>()[i] - scales[channel] * static_cast<float>(integer)),
                0.500001F * scales[channel]);
    }
  }
}

TEST(QuantizeWeights, RoundsTiesToEven) {
  const Tensor w = Tensor::of<float>({1, 4}, {0.5F, 1.5F, 2.5F, -0.5F});
  const Tensor q = quantize_weights(w, kWeights, Affines{{1.0F}});
  EXPECT_THAT(q.values<std::int8_t>(), testing::ElementsAre(0, 2, 2, 0));
}

// Bias correction reads the mean of each group's inputs. If 5 channels are divided among 3 groups,
// a channel may belong to no group.
TEST(WeightPorts, AreNotThoseOfGroupsThatDivideNoChannels) {
  for (const std::int64_t groups : {std::int64_t{3}, std::int64_t{6}, std::int64_t{0},
                                    std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    Net net;
    const auto x = net.input("x", {1, 6, 4, 4});
    net.constant("w", Tensor(DType::kFloat32, Shape{5, 2, 1, 1}));
    net.output(net.op("Conv", "conv", {x, "w"}, {{"group", groups}}));
    EXPECT_FALSE(weight_ports(net.graph, node_named(net.graph, "conv"))) << groups;
  }
}

TEST(WeightPorts, FindTheAxisOfTheOutputChannels) {
  Net net;
  const auto x = net.input("x", {1, 3});
  net.constant("w", Tensor(DType::kFloat32, Shape{3, 3}));
  net.constant("c", Tensor::of<float>({1}, {2.0F}));
  net.output(net.op("Gemm", "plain", {x, "w"}));
  net.output(net.op("Gemm", "transposed", {x, "w", "c"},
                    {{"transB", std::int64_t{1}}, {"alpha", 2.0F}, {"beta", 0.5F}}));
  net.output(net.op("MatMul", "matmul", {x, "w"}));
  const auto ports = [&](std::string_view name) {
    return weight_ports(net.graph, node_named(net.graph, name)).value();
  };
  EXPECT_EQ(ports("plain").axis, 1);
  EXPECT_EQ(ports("matmul").axis, 1);
  EXPECT_EQ(ports("transposed").axis, 0);
  EXPECT_EQ(ports("transposed").weight_factor, 2.0F);
  EXPECT_THAT(real_bias(net.graph, ports("transposed")), testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(real_bias(net.graph, ports("plain")), testing::ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace qtool
