// The model of a channel against samples of the distributions that it assumes.
#include "quantize/channel_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace qtool {
namespace {

constexpr double kStep = 0.02;

Observed observed_of(const std::vector<double>& values) {
  Observed observed;
  double sum = 0.0;
  for (const double value : values) sum += value;
  observed.channel_means = {static_cast<float>(sum / static_cast<double>(values.size()))};
  observed.channel_mins = {static_cast<float>(*std::min_element(values.begin(), values.end()))};
  observed.channel_maxs = {static_cast<float>(*std::max_element(values.begin(), values.end()))};
  return observed;
}

double power_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

/// What rounding to multiples of kStep within [low, high] does.
double noise_of(const std::vector<double>& values, double low, double high) {
  double sum = 0.0;
  for (const double value : values) {
    const double q = kStep * std::nearbyint(std::clamp(value, low, high) / kStep);
    sum += (value - q) * (value - q);
  }
  return sum / static_cast<double>(values.size());
}

/// Zeros, and exponential values among them.
std::vector<double> after_relu(double share, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> decay(1.0);
  std::bernoulli_distribution any(share);
  std::vector<double> values(count);
  for (double& value : values) value = any(random) ? decay(random) : 0.0;
  return values;
}

TEST(ChannelModel, KnowsThePowerOfAnActivationFromMeanAndLargest) {
  for (const double share : {0.05, 0.5, 1.0}) {
    const std::vector<double> values = after_relu(share, 100000, 7);
    const ChannelModel model(observed_of(values), 0, static_cast<double>(values.size()));
    EXPECT_NEAR(model.power() / power_of(values), 1.0, 0.25) << share;
  }
}

TEST(ChannelModel, FindsRoundingNoiseOnlyWhereValuesAreNotZero) {
  const std::vector<double> sparse = after_relu(0.1, 100000, 8);
  const ChannelModel model(observed_of(sparse), 0, static_cast<double>(sparse.size()));
  EXPECT_NEAR(model.noise(kStep, 0.0, 1e3) / noise_of(sparse, 0.0, 1e3), 1.0, 0.3);
}

TEST(ChannelModel, ForeseesWhatSaturatesOfOtherImages) {
  // The model has seen a tenth of what will come.
  double foreseen = 0.0;
  double came = 0.0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::vector<double> seen = after_relu(0.3, 2000, seed);
    const std::vector<double> other = after_relu(0.3, 20000, 1000 + seed);
    const double limit = observed_of(seen).channel_maxs[0];
    foreseen += ChannelModel(observed_of(seen), 0, 2000.0).noise(kStep, 0.0, limit);
    came += noise_of(other, 0.0, limit);
  }
  EXPECT_GT(foreseen, 0.3 * came);
  EXPECT_LT(foreseen, 3.0 * came);
}

TEST(ChannelModel, TakesBothSidesOfSignedValues) {
  std::mt19937 random(9);
  std::exponential_distribution<double> decay(1.0);
  std::bernoulli_distribution side(0.5);
  std::vector<double> values(100000);
  for (double& value : values) value = 0.5 + (side(random) ? decay(random) : -decay(random));
  const ChannelModel model(observed_of(values), 0, static_cast<double>(values.size()));
  EXPECT_NEAR(model.power() / power_of(values), 1.0, 0.35);
  EXPECT_GT(model.noise(kStep, -1.0, 50.0), 10.0 * model.noise(kStep, -50.0, 50.0));
}

TEST(ChannelModel, OfAChannelOfZerosHasNoNoise) {
  const ChannelModel model(observed_of({0.0, 0.0}), 0, 2.0);
  EXPECT_EQ(model.power(), 0.0);
  EXPECT_LT(model.noise(kStep, 0.0, 1.0), kStep * kStep);
}

}  // namespace
}  // namespace qtool
