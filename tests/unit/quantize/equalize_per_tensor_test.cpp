#include "quantize/rewrites/equalize_per_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace qtool {
namespace {

double factor_of(const std::vector<double>& factors, std::size_t variable) {
  return variable == kNoVariable ? 1.0 : factors[variable];
}

/// The exact noise of a layer, with the largest weight and not with a norm in its place.
double noise(const SharedLayer& layer, const std::vector<double>& factors) {
  double largest = 0.0;
  double rest = 0.0;
  for (const SharedPair& pair : layer.pairs) {
    const double by = factor_of(factors, layer.inputs[pair.input]) /
                      factor_of(factors, layer.outputs[pair.output]);
    largest = std::max(largest, pair.largest * by);
    rest += layer.gain[pair.output] * layer.power[pair.input] / (by * by);
  }
  return std::pow(largest / layer.steps, 2) / 12.0 * rest;
}

// With the norm of order p in place of the maximum, the derivatives are 0 where r^(p + 2) is
// proportional to the p-th power of the channel's reach.
TEST(SharedScaleFactors, OfOneTensorAreThoseOfTheFormula) {
  const SharedTensor tensor{{0, 1, 2}, {1.0, 0.1, 0.03}, {0.0, 0.0, 0.0}, {2.0, 2.0, 2.0}, 255.0};
  const std::vector<double> factors = shared_scale_factors({}, {&tensor, 1}, 3);
  EXPECT_NEAR(factors[1] / factors[0], std::pow(0.1, 12.0 / 14.0), 0.003);
  EXPECT_NEAR(factors[2] / factors[0], std::pow(0.03, 12.0 / 14.0), 0.003);
}

// One input, three channels, one output: the first layer wants small rows larger, the second wants
// small columns larger.
TEST(SharedScaleFactors, BetweenTwoLayersFitBoth) {
  const std::vector<double> first{1.0, 0.1, 0.02};
  const std::vector<double> second{0.05, 0.7, 1.0};
  SharedLayer a{{}, {kNoVariable}, {0, 1, 2}, {1.0}, {1.0, 1.0, 1.0}, 127.0};
  SharedLayer b{{}, {0, 1, 2}, {kNoVariable}, {1.0, 1.0, 1.0}, {1.0}, 127.0};
  for (std::size_t c = 0; c < 3; ++c) {
    a.pairs.push_back({c, 0, first[c]});
    b.pairs.push_back({0, c, second[c]});
  }
  const std::vector<SharedLayer> layers{a, b};
  const std::vector<double> factors = shared_scale_factors(layers, {}, 3);
  const std::vector<double> ones(3, 1.0);
  const auto sum = [&](const std::vector<double>& r) { return noise(a, r) + noise(b, r); };
  EXPECT_LT(sum(factors), 0.45 * sum(ones));
  // No factors near the result are much better; the norm differs a little from the maximum.
  for (std::size_t c = 0; c < 3; ++c) {
    for (const double by : {0.8, 1.25}) {
      std::vector<double> other = factors;
      other[c] *= by;
      EXPECT_GT(sum(other), 0.9 * sum(factors)) << c << " " << by;
    }
  }
}

TEST(SharedScaleFactors, OfADepthwiseLayerMakeItsWeightsAlike) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-2.0, 0.0);
  SharedLayer layer{{}, {}, {}, {}, {}, 127.0};
  for (std::size_t c = 0; c < 16; ++c) {
    layer.inputs.push_back(kNoVariable);
    layer.outputs.push_back(c);
    layer.power.push_back(1.0);
    layer.pairs.push_back({c, c, std::pow(10.0, exponent(random))});
    layer.gain.push_back(std::pow(layer.pairs.back().largest, -2.0));
  }
  const std::vector<double> factors = shared_scale_factors({&layer, 1}, {}, 16);
  std::vector<double> scaled;
  for (std::size_t c = 0; c < 16; ++c) scaled.push_back(layer.pairs[c].largest / factors[c]);
  const auto [least, most] = std::minmax_element(scaled.begin(), scaled.end());
  EXPECT_LT(*most / *least, 1.05);
}

TEST(SharedScaleFactors, AreOneWithoutAnythingToGain) {
  EXPECT_TRUE(shared_scale_factors({}, {}, 0).empty());
  EXPECT_EQ(shared_scale_factors({}, {}, 2), (std::vector<double>{1.0, 1.0}));
}

}  // namespace
}  // namespace qtool
