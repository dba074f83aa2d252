#include "compare/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "compare/metrics.h"

namespace qtool {
namespace {

constexpr int kSets = 400;

// The share of simulated sets whose interval holds the true figure. With 400 sets it lies within
// 3.3 points of its mean with a probability of 99.7 %.
double coverage(double truth, const std::function<std::optional<Interval>(std::mt19937_64&)>& one) {
  std::mt19937_64 random(11);
  int held = 0;
  for (int i = 0; i < kSets; ++i) {
    const std::optional<Interval> interval = one(random);
    EXPECT_TRUE(interval.has_value());
    if (interval && interval->low <= truth && truth <= interval->high) ++held;
  }
  return static_cast<double>(held) / kSets;
}

double mean_of(std::span<const double> sums, std::size_t count) {
  return sums[0] / static_cast<double>(count);
}

// Known answers: Brown, Cai, DasGupta; and by hand, with z = 1.959964.
TEST(WilsonInterval, GivesKnownAnswers) {
  const Interval most = wilson_interval(17, 20).value();
  EXPECT_NEAR(most.low, 0.6396, 1e-4);
  EXPECT_NEAR(most.high, 0.9476, 1e-4);
  const Interval all = wilson_interval(20, 20).value();
  EXPECT_NEAR(all.low, 0.8389, 1e-4);
  EXPECT_EQ(all.high, 1.0);
  EXPECT_EQ(wilson_interval(0, 20).value().low, 0.0);
  EXPECT_FALSE(wilson_interval(0, 0).has_value());
}

TEST(WilsonInterval, HoldsTheTrueShare) {
  for (const double share : {0.5, 0.9, 0.97}) {
    for (const int answers : {20, 200}) {
      const double held = coverage(share, [&](std::mt19937_64& random) {
        std::binomial_distribution<int> hits(answers, share);
        return wilson_interval(hits(random), answers);
      });
      EXPECT_GE(held, 0.91) << share << " of " << answers;
    }
  }
}

TEST(WilsonInterval, SaysHowManyAnswersDecide) {
  // 73 right answers of 73 have an interval from 95.0 % on, 72 of 72 do not.
  EXPECT_EQ(wilson_answers(1.0, 0.95, 1000000), 73);
  EXPECT_GE(wilson_interval(73, 73).value().low, 0.95);
  EXPECT_LT(wilson_interval(72, 72).value().low, 0.95);
  const std::int64_t few = wilson_answers(0.85, 0.95, 1000000);
  EXPECT_LT(wilson_upper_end(0.85 * static_cast<double>(few), static_cast<double>(few), 1.959964),
            0.95);
  EXPECT_EQ(wilson_answers(0.95, 0.95, 1000000), 1000000);
}

TEST(BootstrapInterval, IsTheSameEachTimeAndHoldsTheFigure) {
  const std::vector<double> values{1.0, 2.0, 3.0, 4.0, 4.0, 9.0};
  const auto mean = [&](std::span<const double> sums) { return mean_of(sums, values.size()); };
  const Interval interval = bootstrap_interval(values, 1, mean).value();
  EXPECT_EQ(interval, bootstrap_interval(values, 1, mean).value());
  EXPECT_LT(interval.low, 23.0 / 6.0);
  EXPECT_GT(interval.high, 23.0 / 6.0);
  EXPECT_GE(interval.low, 1.0);
  EXPECT_LE(interval.high, 9.0);
}

TEST(BootstrapInterval, NeedsSixSamplesAndFiniteFigures) {
  const auto first = [](std::span<const double> sums) { return sums[0]; };
  const std::vector<double> six{1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  EXPECT_TRUE(bootstrap_interval(six, 1, first).has_value());
  EXPECT_FALSE(bootstrap_interval(std::span(six).first(5), 1, first).has_value());
  EXPECT_FALSE(bootstrap_interval(six, 2, first).has_value()) << "three samples";
  const auto none = [](std::span<const double>) { return std::numeric_limits<double>::infinity(); };
  EXPECT_FALSE(bootstrap_interval(six, 1, none).has_value());
}

TEST(BootstrapInterval, IsTheSameForValuesThatAreMostlyMissing) {
  const std::vector<double> values{3.0, 1.0, 0.0, 2.0, 5.0, 0.0, 4.0, 4.0, 2.0, 0.0, 1.0, 3.0};
  const auto ratio = [](std::span<const double> sums) { return sums[0] / (sums[0] + sums[1]); };
  const auto add = [&](std::size_t sample, std::span<double> sums) {
    for (std::size_t k = 0; k < 2; ++k) {
      if (values[2 * sample + k] > 0.0) sums[k] += values[2 * sample + k];
    }
  };
  const std::optional<Interval> all = bootstrap_interval(values, 2, ratio);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(bootstrap_interval(6, 2, 9, add, ratio), all);
  EXPECT_FALSE(bootstrap_interval(1, 2, 2, add, ratio).has_value());
}

// Decibels of single images: skewed, with some bad images.
TEST(BootstrapInterval, HoldsTheTrueMean) {
  // With 6 images it holds for 90.9 % of many sets, with more for 92 % and above.
  for (const std::size_t images :
       {std::size_t{6}, std::size_t{10}, std::size_t{20}, std::size_t{80}}) {
    const double held = coverage(25.0 - 3.0, [&](std::mt19937_64& random) {
      std::gamma_distribution<double> loss(2.0, 1.5);  // mean 3
      std::vector<double> values(images);
      for (double& value : values) value = 25.0 - loss(random);
      return bootstrap_interval(
          values, 1, [&](std::span<const double> sums) { return mean_of(sums, images); });
    });
    EXPECT_GE(held, images == 6 ? 0.88 : 0.905) << images;
    EXPECT_LE(held, 0.99) << images;
  }
}

// Boxes of an image are lost together: an interval over boxes as if they were independent would be
// too narrow.
TEST(BootstrapInterval, HoldsTheTrueShareOfBoxesThatComeInImages) {
  constexpr double kKept = 0.8;
  const auto held_by = [&](bool by_images) {
    return coverage(kKept, [&](std::mt19937_64& random) {
      std::poisson_distribution<int> boxes(6);
      std::gamma_distribution<double> good(4.0, 1.0);
      std::gamma_distribution<double> bad(1.0, 1.0);  // good / (good + bad) has the mean 0.8
      std::vector<double> values;
      double kept_all = 0.0;
      double all = 0.0;
      for (int i = 0; i < 60; ++i) {
        const double g = good(random);
        const double chance = g / (g + bad(random));
        const int count = boxes(random);
        const double kept = std::binomial_distribution<int>(count, chance)(random);
        values.insert(values.end(), {static_cast<double>(count), kept});
        kept_all += kept;
        all += count;
      }
      if (!by_images) {
        return wilson_interval(std::llround(kept_all), std::llround(all));
      }
      return bootstrap_interval(values, 2,
                                [](std::span<const double> sums) { return sums[1] / sums[0]; });
    });
  };
  EXPECT_GE(held_by(true), 0.91);
  EXPECT_LT(held_by(false), 0.90);
}

TEST(PairedInterval, HoldsTheTrueChangeOfTop1) {
  for (const int images : {30, 100}) {
    const double held = coverage(0.01 - 0.03, [&](std::mt19937_64& random) {
      std::discrete_distribution<int> outcome({0.01, 0.96, 0.03});  // gained, same, lost
      std::vector<double> changes(static_cast<std::size_t>(images));
      for (double& change : changes) change = 1.0 - outcome(random);
      return paired_interval(changes);
    });
    EXPECT_GE(held, 0.91) << images;
  }
}

TEST(PairedInterval, HasAWidthWhereNothingChanged) {
  const std::vector<double> same(50, 0.0);
  const Interval interval = paired_interval(same).value();
  EXPECT_LT(interval.low, -0.01);
  EXPECT_GT(interval.high, 0.01);
  EXPECT_FALSE(paired_interval({}).has_value());
}

TEST(TextOfIntervals, HasTheDecimalsOfItsFigure) {
  const Interval interval{0.76444, 0.991};
  EXPECT_EQ(fixed_interval(interval, 2), "0.76 to 0.99");
  EXPECT_EQ(fixed_interval(interval, 4), "0.7644 to 0.9910");
  EXPECT_EQ(percent_interval(interval), "76.4 to 99.1 %");
  EXPECT_EQ(fixed_interval({}, 2), "");
  EXPECT_EQ(percent_interval({}), "");
}

}  // namespace
}  // namespace qtool
