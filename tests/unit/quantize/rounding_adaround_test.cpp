#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "quantize/rounding/input_moments.h"
#include "quantize/rounding/rounding.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kRoundedDepth = 18;
constexpr std::int64_t kOutputs = 12;  // of a group
constexpr std::int64_t kRows = 501;    // not a multiple of the lanes

/// A layer of 4 bits with a Relu after it, and vectors whose elements depend on their neighbours.
class Adaround : public testing::TestWithParam<std::int64_t> {
 protected:
  Adaround() {
    const std::int64_t groups = GetParam();
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0.1F, 0.5F);
    const auto draw = [&](const Shape& shape) {
      Tensor tensor(DType::kFloat32, shape);
      for (float& value : tensor.values<float>()) value = normal(random);
      return tensor;
    };
    net_.input("x", {1, 2 * groups, 8, 8});
    net_.constant("w", draw(Shape{kOutputs * groups, 2, 3, 3}));
    net_.constant("b", draw(Shape{kOutputs * groups}));
    net_.op("Conv", "conv", {"x", "w", "b"}, {{"group", groups}});
    net_.op("Relu", "relu", {"conv_out"});
    net_.output("relu_out");
    node_ = net_.graph.nodes().front();
    std::vector<float> rows(static_cast<std::size_t>(groups * kRows * kRoundedDepth));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i] = normal(random) + (i % kRoundedDepth == 0 ? 0.0F : 0.8F * rows[i - 1]);
    }
    moments_.groups = groups;
    moments_.depth = kRoundedDepth;
    add_rows(rows, moments_);
    samples_.capacity = kRows + 3;
    add_samples(rows, groups, kRoundedDepth, kRows, samples_);
  }

  [[nodiscard]] Layer layer() const {
    Layer layer = begin_layer(net_.graph, node_, weight_ports(net_.graph, node_).value(),
                              {DType::kInt8, 4, Symmetry::kSymmetric});
    choose_scales(layer, "absmax", Granularity::kPerChannel);
    layer.input.moments = &moments_;
    layer.input.samples = &samples_;
    layer.input.passed = passed_interval(net_.graph, node_);
    return layer;
  }

  /// The squared error after the Relu, summed over samples and channels by plain loops.
  [[nodiscard]] double error_of(const Layer& layer, const Tensor& integers) const {
    const auto w = layer.weights.values<float>();
    const auto q = integers.values<std::int8_t>();
    double sum = 0.0;
    const auto channels = static_cast<std::int64_t>(layer.bias.size());
    for (std::int64_t c = 0; c < channels; ++c) {
      const double scale = layer.affines.at(static_cast<std::size_t>(c)).scale;
      for (std::int64_t r = 0; r < kRows; ++r) {
        double real = layer.bias[static_cast<std::size_t>(c)];
        double made = real;
        for (std::int64_t k = 0; k < kRoundedDepth; ++k) {
          const double x = samples_.vectors[static_cast<std::size_t>(
              ((c / kOutputs) * samples_.capacity + r) * kRoundedDepth + k)];
          const auto at = static_cast<std::size_t>(c * kRoundedDepth + k);
          real += x * static_cast<double>(w[at]);
          made += x * scale * q[at];
        }
        const double off = std::max(made, 0.0) - std::max(real, 0.0);
        sum += off * off;
      }
    }
    return sum;
  }

  Net net_;
  NodeId node_ = kNoNode;
  InputMoments moments_;
  InputSamples samples_;
};

TEST_P(Adaround, LosesLessBehindTheActivationThanGptq) {
  const Layer one = layer();
  const Tensor gptq = find_rounding("gptq").round(one);
  const Tensor adaround = find_rounding("adaround").round(one);
  const double before = error_of(one, gptq);
  const double after = error_of(one, adaround);
  EXPECT_LT(after, before);
  EXPECT_GT(after, 0.0);
  EXPECT_TRUE(fits(adaround, one));
}

TEST_P(Adaround, KeepsWhatGptqMakesWithoutSamples) {
  Layer one = layer();
  one.input.samples = nullptr;
  const Tensor gptq = find_rounding("gptq").round(one);
  const Tensor adaround = find_rounding("adaround").round(one);
  EXPECT_TRUE(std::ranges::equal(adaround.values<std::int8_t>(), gptq.values<std::int8_t>()));
}

TEST_P(Adaround, IsBlindToWhatTheActivationHides) {
  Layer one = layer();
  std::fill(one.bias.begin(), one.bias.end(), -1000.0F);  // nothing passes
  const Tensor gptq = find_rounding("gptq").round(one);
  const Tensor adaround = find_rounding("adaround").round(one);
  EXPECT_EQ(error_of(one, adaround), 0.0);
  // Then only the cost of each weight's own error decides, so none of these errors grows.
  const auto w = one.weights.values<float>();
  const auto error = [&](const Tensor& q, std::size_t i) {
    return std::abs(one.affines.at(i / kRoundedDepth).scale *
                        static_cast<float>(q.values<std::int8_t>()[i]) -
                    w[i]);
  };
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_LE(error(adaround, i), error(gptq, i)) << i;
}

INSTANTIATE_TEST_SUITE_P(Groups, Adaround, testing::Values(1, 3));

}  // namespace
}  // namespace qtool
