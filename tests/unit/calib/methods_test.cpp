// Compares the calibration methods with their definitions, which are computed from the values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "calib/methods/auto.h"
#include "calib/methods/fractional_kl.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/method.h"
#include "support/float_view.h"

namespace qtool {
namespace {

using Values = std::vector<float>;

template <typename Distribution>
Values drawn(Distribution distribution, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Values values(count);
  std::generate(values.begin(), values.end(),
                [&] { return static_cast<float>(distribution(random)); });
  return values;
}

Values normal_values() { return drawn(std::normal_distribution<double>(), 100000, 1); }

Values laplace_values() {
  Values values = drawn(std::exponential_distribution<double>(), 100000, 2);
  for (std::size_t i = 1; i < values.size(); i += 2) values[i] = -values[i];
  return values;
}

Values student_values() { return drawn(std::student_t_distribution<double>(4.0), 100000, 3); }

Values after_relu(Values values) {
  for (float& value : values) value = std::max(value, 0.0F);
  return values;
}

Statistics statistics_of_channel(const Values& values) {
  Statistics statistics;
  statistics.observe(one_channel(values), 0, Counting::all());
  return statistics;
}

Range decided(std::string_view method, const Values& values, const MethodOptions& options = {}) {
  return find_method(method).decide(statistics_of_channel(values), options);
}

double noise_of(const Values& values, const Range& range, const Scheme& scheme) {
  const Affine affine = choose_affine(range, scheme);
  const Limits limits = limits_of(scheme);
  double noise = 0.0;
  for (const float value : values) {
    const double error = value - dequantize_value(quantize_value(value, affine, limits), affine);
    noise += error * error;
  }
  return noise;
}

/// The least noise of any symmetric or one-sided clip. Tries all clips on a sample of the values,
/// and those near the best one on all values.
double least_noise(const Values& values, const Scheme& scheme) {
  Values sample;
  for (std::size_t i = 0; i < values.size(); i += 5) sample.push_back(values[i]);
  const Range whole = statistics_of_channel(values).range();
  const double top = std::max(-whole.min, whole.max);
  double least = noise_of(values, whole, scheme);
  double best = 1.0;
  const auto clipped = [&](double part) {
    return Range{std::max(whole.min, static_cast<float>(-part * top)),
                 std::min(whole.max, static_cast<float>(part * top))};
  };
  double least_of_sample = noise_of(sample, whole, scheme);
  for (int i = 10; i < 1000; ++i) {
    const double noise = noise_of(sample, clipped(i / 1000.0), scheme);
    if (noise < least_of_sample) {
      least_of_sample = noise;
      best = i / 1000.0;
    }
  }
  for (int i = -20; i <= 20; ++i) {
    least = std::min(least, noise_of(values, clipped(best + i / 10000.0), scheme));
  }
  return least;
}

struct LeastSquaresCase {
  std::string name;
  Values values;
  Scheme scheme;
};

std::vector<LeastSquaresCase> least_squares_cases() {
  std::vector<LeastSquaresCase> cases;
  for (const int bits : {8, 4}) {
    const Scheme symmetric{DType::kInt8, bits, Symmetry::kSymmetric};
    const Scheme with_zero_point{DType::kUInt8, bits, Symmetry::kAsymmetric};
    const std::string of = " at " + std::to_string(bits) + " bits";
    cases.push_back({"normal" + of, normal_values(), symmetric});
    cases.push_back({"laplace" + of, laplace_values(), symmetric});
    cases.push_back({"student" + of, student_values(), symmetric});
    cases.push_back({"relu" + of, after_relu(normal_values()), with_zero_point});
    cases.push_back({"heavy relu" + of, after_relu(student_values()), with_zero_point});
  }
  return cases;
}

MethodOptions options_of(const Scheme& scheme) {
  MethodOptions options;
  options.scheme = scheme;
  return options;
}

TEST(MseMethod, FindsTheLeastNoiseWithinThreePerMille) {
  for (const LeastSquaresCase& c : least_squares_cases()) {
    const double noise =
        noise_of(c.values, decided("mse", c.values, options_of(c.scheme)), c.scheme);
    EXPECT_LE(noise, 1.003 * least_noise(c.values, c.scheme)) << c.name;
  }
}

TEST(MseMethod, MovesBothEndsOfAnAsymmetricRange) {
  Values values = normal_values();
  for (float& value : values) value = value < 0.0F ? 0.1F * value : value;  // a long right tail
  values.push_back(-1.2F);                                                  // and one outlier left
  const Scheme scheme = MethodOptions().scheme;
  const Range range = decided("mse", values);
  EXPECT_GT(range.min, -0.9F);
  EXPECT_LT(noise_of(values, range, scheme),
            0.95 * noise_of(values, statistics_of_channel(values).range(), scheme));
}

TEST(GradientMethod, EndsInAValleyNearTheBest) {
  for (const LeastSquaresCase& c : least_squares_cases()) {
    const double noise =
        noise_of(c.values, decided("gradient", c.values, options_of(c.scheme)), c.scheme);
    EXPECT_LE(noise, 1.25 * least_noise(c.values, c.scheme)) << c.name;
    EXPECT_LE(noise, 1.001 * noise_of(c.values, statistics_of_channel(c.values).range(), c.scheme))
        << c.name;
  }
}

// MNN's alternation, on the values themselves.
Range literal_admm(const Values& values, const Scheme& scheme) {
  const Limits limits = limits_of(scheme);
  const Range whole = statistics_of_channel(values).range();
  const double top = std::max(-whole.min, whole.max);
  const double low = limits.min;
  const double high = limits.max;
  double scale = top / (high * 2.5);
  for (int i = 0; i < 300; ++i) {
    double xq = 0.0;
    double qq = 0.0;
    for (const float value : values) {
      const double q = std::clamp(std::nearbyint(value / scale), low, high);
      xq += value * q;
      qq += q * q;
    }
    if (xq / qq == scale) break;
    scale = xq / qq;
  }
  return {std::max(whole.min, static_cast<float>(scale * low)),
          std::min(whole.max, static_cast<float>(scale * high))};
}

TEST(AdmmMethod, EndsWhereTheAlternationOnTheValuesEnds) {
  for (const LeastSquaresCase& c : least_squares_cases()) {
    const Range found = decided("admm", c.values, options_of(c.scheme));
    const Range expected = literal_admm(c.values, c.scheme);
    // On the values, the alternation stops when their rounding pattern no longer changes. The
    // density has no such pattern, so there it continues a little.
    const double noise = noise_of(c.values, found, c.scheme);
    const double literal_noise = noise_of(c.values, expected, c.scheme);
    EXPECT_LE(noise, 1.01 * literal_noise) << c.name;
    const Range whole = statistics_of_channel(c.values).range();
    if (found == whole) {  // the method clips nothing if clipping would be worse
      EXPECT_GE(1.01 * literal_noise, noise_of(c.values, whole, c.scheme)) << c.name;
    } else {
      EXPECT_NEAR(found.max, expected.max, 0.02 * expected.max) << c.name;
    }
    EXPECT_LE(noise, 1.35 * least_noise(c.values, c.scheme)) << c.name;
  }
}

TEST(PercentileMethod, CutsHalfTheRestAtEitherEnd) {
  Values values = student_values();
  MethodOptions options;
  for (const double percentile : {99.0, 99.9, 99.99}) {
    options.percentile = percentile;
    const Range range = decided("percentile", values, options);
    Values sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const double tail = 0.005 * (100.0 - percentile);
    const auto rank = static_cast<std::size_t>(tail * 100000.0);
    const auto cell = statistics_of_channel(values).histogram().cell_width();
    EXPECT_NEAR(range.min, sorted[rank], (sorted[rank + 1] - sorted[rank - 1]) + 2 * cell);
    EXPECT_NEAR(range.max, sorted[99999 - rank],
                (sorted[100000 - rank] - sorted[99998 - rank]) + 2 * cell);
  }
  options.percentile = 100.0;
  EXPECT_EQ(decided("percentile", values, options), statistics_of_channel(values).range());
  options.percentile = 49.0;
  EXPECT_THROW(decided("percentile", values, options), Error);
}

TEST(PercentileMethod, CountsZeros) {
  Values values = after_relu(normal_values());
  const float before = decided("percentile", values).max;
  values.resize(10 * values.size());
  EXPECT_LT(decided("percentile", values).max, before);
}

TEST(EmaMethod, AveragesTheRangesOfTheImagesInTheOrderOfTheList) {
  const std::vector<std::pair<float, float>> ranges = {
      {-1.0F, 2.0F}, {-0.5F, 8.0F}, {-4.0F, 1.0F}, {-1.5F, 3.0F}};
  Statistics forward;
  Statistics backward;
  double min = ranges[0].first;
  double max = ranges[0].second;
  MethodOptions options;
  options.momentum = 0.25;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto add = [&](Statistics& statistics, std::size_t image) {
      const Values values = {ranges[image].first, 0.0F, ranges[image].second};
      statistics.observe(one_channel(values), static_cast<std::int64_t>(image));
    };
    add(forward, i);
    add(backward, ranges.size() - 1 - i);
    if (i == 0) continue;
    min = 0.25 * ranges[i].first + 0.75 * min;
    max = 0.25 * ranges[i].second + 0.75 * max;
  }
  const Range range = find_method("ema").decide(forward, options);
  EXPECT_FLOAT_EQ(range.min, static_cast<float>(min));
  EXPECT_FLOAT_EQ(range.max, static_cast<float>(max));
  EXPECT_EQ(find_method("ema").decide(backward, options), range);
  options.momentum = 1e-4;
  EXPECT_THROW(find_method("ema").decide(forward, options), Error);
}

TEST(AciqMethod, ClipsAtThePublishedMultiples) {
  const Range normal = decided("aciq", normal_values());
  EXPECT_NEAR(normal.max, 3.92, 0.03);
  EXPECT_NEAR(normal.min, -3.92, 0.03);
  EXPECT_NEAR(decided("aciq", laplace_values()).max, 9.89, 0.1);
  MethodOptions four_bits = options_of({DType::kUInt8, 4, Symmetry::kAsymmetric});
  EXPECT_NEAR(decided("aciq", normal_values(), four_bits).max, 2.55, 0.03);
}

TEST(AciqNcnnMethod, FollowsItsFormulaEvenAboveTheLargestValue) {
  Values values = normal_values();
  const double absmax = statistics_of_channel(values).absmax();
  EXPECT_NEAR(decided("aciq_ncnn", values).max, absmax * 4.2396 / std::sqrt(2.0 * std::log(1e5)),
              1e-5);
  values.resize(1000);
  const float largest = statistics_of_channel(values).absmax();
  EXPECT_GT(decided("aciq_ncnn", values).max, largest);
}

// The divergence of one candidate, by the loops that the parity methods describe.
double literal_divergence(const std::vector<double>& weights, std::int64_t kept, double smoothing) {
  constexpr std::int64_t kLevels = 128;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> p(weights.begin(), weights.begin() + kept);
  for (double& bin : p) bin += smoothing;
  p.back() += std::accumulate(weights.begin() + kept, weights.end(), 0.0);
  std::vector<double> q(at(kept), smoothing);
  const double width = static_cast<double>(kept) / kLevels;
  const auto overlap = [&](std::int64_t bin, std::int64_t level) {
    const double from = std::max(static_cast<double>(bin), static_cast<double>(level) * width);
    const double to =
        std::min(static_cast<double>(bin + 1), static_cast<double>(level + 1) * width);
    return std::max(0.0, to - from);
  };
  for (std::int64_t level = 0; level < kLevels; ++level) {
    double sum = 0.0;
    for (std::int64_t bin = 0; bin < kept; ++bin) sum += overlap(bin, level) * weights[at(bin)];
    for (std::int64_t bin = 0; bin < kept; ++bin) q[at(bin)] += overlap(bin, level) * sum / width;
  }
  double divergence = 0.0;
  for (std::int64_t bin = 0; bin < kept; ++bin) {
    divergence += p[at(bin)] * std::log(p[at(bin)] / q[at(bin)]);
  }
  return divergence;
}

TEST(FractionalKl, EqualsItsDefinition) {
  std::mt19937 random(5);
  std::exponential_distribution<double> exponential;
  std::vector<double> weights(300);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = i % 7 == 3 ? 0.0 : exponential(random) * std::exp(-0.01 * static_cast<double>(i));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  for (const double smoothing : {1e-4, 1e-12}) {
    const FractionalKl search(weights, 128, smoothing);
    ASSERT_EQ(search.divergences().size(), 172U);
    for (std::int64_t kept = 128; kept < 300; ++kept) {
      EXPECT_NEAR(search.divergences()[static_cast<std::size_t>(kept - 128)],
                  literal_divergence(weights, kept, smoothing), 1e-10)
          << kept;
    }
    const auto least = std::min_element(search.divergences().begin(), search.divergences().end());
    EXPECT_EQ(search.best(), 128 + (least - search.divergences().begin()));
  }
}

TEST(KlMnnMethod, DoesNotSearchSmallImages) {
  Values values = after_relu(normal_values());
  values.resize(99);
  const float absmax = statistics_of_channel(values).absmax();
  EXPECT_FLOAT_EQ(decided("kl_mnn", values).max, absmax * 2047.5F / 2048.0F);
}

TEST(KlMnnMethod, LeavesOutMagnitudesUpToAMillionth) {
  Values values = drawn(std::exponential_distribution<double>(5e4), 5000, 6);
  for (float& value : values) value += 1.1e-6F;
  const auto with = [&](float tiny) {
    Values all = values;
    all.resize(all.size() + 20000, tiny);
    return decided("kl_mnn", all);
  };
  EXPECT_EQ(with(5e-7F), with(0.0F));
  EXPECT_NE(with(2e-6F), with(0.0F));
  const Range nothing_left = decided("kl_mnn", Values(200, 5e-7F));
  EXPECT_GT(nothing_left.max, 0.0F);
  EXPECT_LE(nothing_left.max, 5e-7F);
}

TEST(AutoMethod, IsTheLeastNoisyOfItsCandidates) {
  for (const LeastSquaresCase& c : least_squares_cases()) {
    const MethodOptions options = options_of(c.scheme);
    const double chosen = noise_of(c.values, decided("auto", c.values, options), c.scheme);
    for (const char* method : {"minmax", "kl", "mse", "percentile"}) {
      EXPECT_LE(chosen, 1.003 * noise_of(c.values, decided(method, c.values, options), c.scheme))
          << c.name << " " << method;
    }
  }
}

// The images are similar, but one of them has values twenty times as large.
TEST(AutoMethod, IsTheLeastNoisyForTheTypicalImageWhereOutputsAreMaps) {
  constexpr std::size_t kImages = 40;
  std::vector<Values> images;
  for (unsigned seed = 0; seed < kImages; ++seed) {
    images.push_back(after_relu(drawn(std::normal_distribution<double>(), 5000, seed)));
  }
  std::fill_n(images[7].begin(), 4, 40.0F);
  const MethodOptions options;
  const auto chosen = [&](const std::vector<Values>& all, float factor, Outputs outputs) {
    Statistics statistics;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Values values = all[i];
      for (float& value : values) value *= factor;
      statistics.observe(one_channel(values), static_cast<std::int64_t>(i));
    }
    const MethodChoice choice = best_method(statistics, options, outputs);
    EXPECT_EQ(choice.range, choice.method->decide(statistics, options));
    return std::pair(choice.method->name, choice.range);
  };
  const auto mean_log_noise = [&](const Range& range) {
    double sum = 0.0;
    for (const Values& image : images) {
      sum += std::log(noise_of(image, range, options.scheme));
    }
    return sum / kImages;
  };
  const auto [name, range] = chosen(images, 1.0F, Outputs::kMaps);
  EXPECT_LT(range.max, 8.0F);
  EXPECT_GT(chosen(images, 1.0F, Outputs::kVectors).second.max, 30.0F);
  Values together;
  for (const Values& image : images) {
    together.insert(together.end(), image.begin(), image.end());
  }
  for (const char* method : {"minmax", "kl", "mse", "percentile"}) {
    EXPECT_LE(mean_log_noise(range), mean_log_noise(decided(method, together)) + 0.01) << method;
  }
  EXPECT_EQ(chosen(images, 0x1p-20F, Outputs::kMaps).first, name);
  std::reverse(images.begin(), images.end());
  EXPECT_EQ(chosen(images, 1.0F, Outputs::kMaps), std::pair(name, range));
}

TEST(AutoMethod, LetsImagesOfZerosHaveNoVoteWhereOutputsAreMaps) {
  std::mt19937 random(5);
  Statistics statistics;
  Values values(60000);
  for (int image = 0; image < 100; ++image) {
    std::fill(values.begin(), values.end(), 0.0F);
    if (image % 25 == 7) {
      for (int i = 0; i < 400; ++i) values[random() % 60000] = static_cast<float>(random() % 1000);
    }
    statistics.observe(one_channel(values), image);
  }
  // If the images of zeros had a vote, a narrower range would win.
  ASSERT_LT(find_method("percentile").decide(statistics, {}).max, 850.0F);
  EXPECT_GT(best_method(statistics, {}, Outputs::kMaps).range.max, 950.0F);
}

TEST(AutoMethod, AnswersDegenerateTensorsWhereOutputsAreMaps) {
  for (const Values& values : {Values(), Values(50), Values{2.5F}, Values{-1e-40F, 3e38F}}) {
    const Statistics statistics = values.empty() ? Statistics() : statistics_of_channel(values);
    const Range range = best_method(statistics, {}, Outputs::kMaps).range;
    EXPECT_LE(range.min, 0.0F);
    EXPECT_GE(range.max, 0.0F);
    EXPECT_EQ(range.max > 0.0F, statistics.max() > 0.0F);
  }
}

}  // namespace
}  // namespace qtool
