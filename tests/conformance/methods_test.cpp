// Checks the promises of every calibration method of the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "calib/methods/auto.h"
#include "calib/statistics.h"
#include "conformance/method_properties.h"
#include "qtool/base/error.h"
#include "qtool/calib/method.h"
#include "quant/density.h"
#include "support/float_view.h"

namespace qtool {

// The name under which ctest lists a case: the default would print addresses.
static void PrintTo(const MethodInfo& row, std::ostream* out) { *out << row.name; }

namespace {

using Values = std::vector<float>;

Values normal(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  Values values(count);
  std::generate(values.begin(), values.end(), [&] { return distribution(random); });
  return values;
}

Values mapped(Values values, const std::function<float(float)>& map) {
  std::transform(values.begin(), values.end(), values.begin(), map);
  return values;
}

struct Shape1d {
  const char* name;
  Values values;
};

// Distributions that activations have, and some that break methods.
std::vector<Shape1d> distributions() {
  Values outlier = normal(20000, 4);
  outlier.back() = 300.0F;
  Values sparse(20000);
  sparse[7] = 0.5F;
  sparse[99] = -0.25F;
  return {
      {"normal", normal(20000, 1)},
      {"relu", mapped(normal(20000, 2), [](float x) { return std::max(x, 0.0F); })},
      {"relu6", mapped(normal(20000, 3), [](float x) { return std::clamp(4 * x, 0.0F, 6.0F); })},
      {"outlier", outlier},
      {"heavy tails", mapped(normal(20000, 5), [](float x) { return x * x * x; })},
      {"leaky", mapped(normal(20000, 6), [](float x) { return x > 0 ? x : 0.01F * x; })},
      {"positive only", mapped(normal(20000, 7), [](float x) { return 3.0F + 0.1F * x; })},
      {"negative only", mapped(normal(20000, 8), [](float x) { return -std::fabs(x) - 0.5F; })},
      {"few values", {1.0F, -2.0F, 3.0F}},
      {"one value", {0.7F}},
      {"mostly zero", sparse},
  };
}

Statistics statistics_of(std::span<const float> values) {
  Statistics statistics;
  statistics.observe(one_channel(values), 0, Counting::all());
  return statistics;
}

class Methods : public testing::TestWithParam<MethodInfo> {
 protected:
  static bool promises(MethodProperty property) {
    return (broken_by(GetParam().name) & property) == MethodProperty::kNone;
  }
  static Range decide(const Values& values) { return decide(statistics_of(values)); }
  static Range decide(const Statistics& statistics) {
    return GetParam().decide(statistics, MethodOptions());
  }
};

TEST_P(Methods, StayInsideTheObservedRangeAndContainZero) {
  for (const Shape1d& shape : distributions()) {
    const Statistics statistics = statistics_of(shape.values);
    const Range range = decide(statistics);
    EXPECT_LE(range.min, 0.0F) << shape.name;
    EXPECT_GE(range.max, 0.0F) << shape.name;
    if (promises(MethodProperty::kInside)) {
      EXPECT_GE(range.min, std::min(statistics.min(), 0.0F)) << shape.name;
      EXPECT_LE(range.max, std::max(statistics.max(), 0.0F)) << shape.name;
    }
    EXPECT_GT(range.max - range.min, 0.0F) << shape.name;
  }
}

// For a large image the histogram counts only a sample of the values, but the range covers all of
// them.
TEST_P(Methods, AnswerASampleThatHoldsZerosOnly) {
  for (const float value : {5.0F, -5.0F}) {
    Values values(300 * 300);
    Statistics statistics;
    for (std::size_t place = 0; place < values.size(); place += 997) {
      std::fill(values.begin(), values.end(), 0.0F);
      values[place] = value;
      statistics = Statistics();
      statistics.observe(one_channel(values), 0, Counting::sample_of(1000));
      if (statistics.histogram().zeros() == statistics.histogram().count()) break;
    }
    ASSERT_EQ(statistics.histogram().zeros(), statistics.histogram().count());
    ASSERT_LT(statistics.histogram().count(), statistics.count());
    const Range range = decide(statistics);
    EXPECT_LE(range.min, 0.0F);
    EXPECT_GE(range.max, 0.0F);
    EXPECT_GT(range.max - range.min, 0.0F);
    if (promises(MethodProperty::kInside)) {
      EXPECT_GE(range.min, std::min(value, 0.0F));
      EXPECT_LE(range.max, std::max(value, 0.0F));
    }
  }
}

TEST_P(Methods, ScaleWithPowersOfTwo) {
  if (!promises(MethodProperty::kScaling)) GTEST_SKIP() << "as its original";
  for (const Shape1d& shape : distributions()) {
    const Range range = decide(shape.values);
    for (const int power : {-40, -3, 1, 40}) {
      const Range scaled =
          decide(mapped(shape.values, [&](float x) { return std::ldexp(x, power); }));
      EXPECT_EQ(scaled.min, std::ldexp(range.min, power)) << shape.name;
      EXPECT_EQ(scaled.max, std::ldexp(range.max, power)) << shape.name;
    }
  }
}

TEST_P(Methods, DoNotDependOnOrderOrGrouping) {
  if (!promises(MethodProperty::kOrder)) GTEST_SKIP() << "by design";
  std::mt19937 random(9);
  for (const Shape1d& shape : distributions()) {
    std::vector<Statistics> images;
    for (std::size_t begin = 0; begin < shape.values.size(); begin += 1000) {
      const std::size_t count = std::min<std::size_t>(1000, shape.values.size() - begin);
      images.push_back(statistics_of(std::span(shape.values).subspan(begin, count)));
    }
    const auto merged = [&] {
      Statistics all;
      Statistics second_worker;
      for (std::size_t i = 0; i < images.size(); ++i) {
        (i % 2 == 0 ? all : second_worker).merge(images[i]);
      }
      all.merge(second_worker);
      return decide(all);
    };
    const Range range = merged();
    std::shuffle(images.begin(), images.end(), random);
    EXPECT_EQ(merged(), range) << shape.name;
  }
}

TEST_P(Methods, AnswerDegenerateTensors) {
  constexpr Range kNothing{0.0F, 0.0F};
  EXPECT_EQ(decide(Statistics()), kNothing);
  EXPECT_EQ(decide(Values(50)), kNothing);
  EXPECT_EQ(decide(Values{1e-40F, -1e-40F}), kNothing);
  const float smallest = std::numeric_limits<float>::min();
  const float largest = std::numeric_limits<float>::max();
  if (promises(MethodProperty::kOneValue)) {
    EXPECT_EQ(decide(Values{smallest}), (Range{0.0F, smallest}));
    EXPECT_EQ(decide(Values{-2.5F}), (Range{-2.5F, 0.0F}));
  }
  const Range whole = decide(Values{largest, -largest});
  EXPECT_TRUE(std::isfinite(whole.min) && std::isfinite(whole.max));
}

TEST_P(Methods, ExplainThemselves) {
  EXPECT_FALSE(GetParam().summary.empty());
  EXPECT_EQ(&find_method(GetParam().name), &find_method(GetParam().name));
  EXPECT_EQ(find_method(GetParam().name).decide, GetParam().decide);
}

INSTANTIATE_TEST_SUITE_P(List, Methods, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& param) { return std::string(param.param.name); });

// The list gives the promises of `auto` for outputs that are vectors. They also hold for maps.
TEST(AutoMethod, KeepsThePromisesWhereOutputsAreMaps) {
  const auto decide = [](const std::vector<Statistics>& images) {
    Statistics all;
    for (const Statistics& image : images) all.merge(image);
    return best_method(all, {}, Outputs::kMaps).range;
  };
  std::mt19937 random(3);
  for (const Shape1d& shape : distributions()) {
    const auto images_of = [](const Values& values) {
      std::vector<Statistics> images;
      for (std::size_t begin = 0; begin < values.size(); begin += 400) {
        const std::size_t count = std::min<std::size_t>(400, values.size() - begin);
        images.push_back(statistics_of(std::span(values).subspan(begin, count)));
      }
      return images;
    };
    std::vector<Statistics> images = images_of(shape.values);
    const Range range = decide(images);
    const auto [low, high] = std::minmax_element(shape.values.begin(), shape.values.end());
    EXPECT_LE(range.min, 0.0F) << shape.name;
    EXPECT_GE(range.max, 0.0F) << shape.name;
    EXPECT_GE(range.min, std::min(*low, 0.0F)) << shape.name;
    EXPECT_LE(range.max, std::max(*high, 0.0F)) << shape.name;
    for (const int power : {-40, 3, 40}) {
      const Range scaled =
          decide(images_of(mapped(shape.values, [&](float x) { return std::ldexp(x, power); })));
      EXPECT_EQ(scaled.max, std::ldexp(range.max, power)) << shape.name;
    }
    std::shuffle(images.begin(), images.end(), random);
    EXPECT_EQ(decide(images), range) << shape.name;
  }
}

TEST(MethodList, IsSortedByName) {
  EXPECT_TRUE(std::is_sorted(methods().begin(), methods().end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST(MethodList, NamesTheNearestForAnUnknownOne) {
  try {
    find_method("minmx");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("minmax"), std::string::npos) << error.what();
  }
}

TEST(MethodList, KnowsTheNamesOfOtherToolsHoweverTheyAreSpelled) {
  const std::vector<std::pair<const char*, const char*>> spelled = {
      {"KL", "kl"},          {"Entropy", "kl"},    {"KL-divergence", "kl"},  {"ADMM", "admm"},
      {"min-max", "minmax"}, {"MinMax", "minmax"}, {"Moving Average", "ema"}};
  for (const auto& [name, method] : spelled) EXPECT_EQ(find_method(name).name, method) << name;
  for (const MethodAlias& alias : method_aliases()) {
    EXPECT_EQ(find_method(alias.alias).name, alias.name) << alias.alias;
  }
  EXPECT_TRUE(
      std::is_sorted(method_aliases().begin(), method_aliases().end(),
                     [](const MethodAlias& a, const MethodAlias& b) { return a.alias < b.alias; }));
}

// The trap of docs/research/calibration.md: zeros cost nothing to quantize, so they must not move a
// threshold.
class KlMethods : public Methods {};

TEST_P(KlMethods, IgnoreExactZeros) {
  if (!promises(MethodProperty::kZeros)) GTEST_SKIP() << "as its original";
  for (const Shape1d& shape : distributions()) {
    const Range range = decide(shape.values);
    for (const std::size_t zeros : {1U, 1000U, 500000U}) {
      Values values = shape.values;
      values.resize(values.size() + zeros);
      EXPECT_EQ(decide(values), range) << shape.name << " with " << zeros << " zeros";
    }
  }
}

TEST_P(KlMethods, IgnoreASpikeInTheFirstBin) {
  if (!promises(MethodProperty::kSpike)) GTEST_SKIP() << "as its original";
  for (const Shape1d& shape : distributions()) {
    if (shape.values.size() < 1000) continue;
    const Statistics clean = statistics_of(shape.values);
    const LinearHistogram histogram = magnitude_histogram(clean.histogram(), MethodOptions().bins);
    Values values = shape.values;
    // The rule lowers the first bin to the height of the second. If the first bin is lower, added
    // values may raise it to that height and change the result.
    const float inside = (clean.min() < 0.0F ? -1.0F : 1.0F) * clean.absmax() / 8192.0F;
    if (histogram.counts[0] < histogram.counts[1]) continue;
    for (const std::size_t spike : {1U, 1000U, 500000U}) {
      values.resize(values.size() + spike, inside);
      EXPECT_EQ(decide(values), decide(clean)) << shape.name << " with a spike of " << spike;
    }
  }
}

TEST_P(KlMethods, NeverLoseToTheObservedRange) {
  if (!promises(MethodProperty::kNoWorse)) GTEST_SKIP() << "as its original";
  const Scheme scheme = MethodOptions().scheme;
  for (const Shape1d& shape : distributions()) {
    const Statistics statistics = statistics_of(shape.values);
    const auto sqnr = [&](const Range& range) {
      return Density(statistics.histogram())
          .effect(choose_affine(range, scheme), limits_of(scheme))
          .sqnr_db();
    };
    // Half a decibel allows for the error of using the bins' centres as their values.
    EXPECT_GE(sqnr(decide(statistics)), sqnr(statistics.range()) - 0.5) << shape.name;
  }
}

std::vector<MethodInfo> kl_methods() {
  std::vector<MethodInfo> found;
  std::copy_if(methods().begin(), methods().end(), std::back_inserter(found),
               [](const MethodInfo& method) { return method.name.starts_with("kl"); });
  return found;
}

INSTANTIATE_TEST_SUITE_P(List, KlMethods, testing::ValuesIn(kl_methods()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(KlMethod, ClipsTheTailOfAManyValuedTensor) {
  const Statistics statistics =
      statistics_of(mapped(normal(200000, 10), [](float x) { return std::max(x, 0.0F); }));
  const Range range = find_method("kl").decide(statistics, MethodOptions());
  EXPECT_LT(range.max, statistics.max());
  EXPECT_GT(range.max, 3.0F);  // keeps the body of the distribution
}

TEST(KlMethod, CostsAtMostADecibelAgainstLeastSquares) {
  int clipped = 0;
  for (const std::int32_t bits : {4, 6, 8}) {
    MethodOptions options;
    options.scheme.bits = bits;
    for (const Shape1d& shape : distributions()) {
      const Statistics statistics = statistics_of(shape.values);
      const auto sqnr = [&](std::string_view method) {
        const Range range = find_method(method).decide(statistics, options);
        clipped += method == "kl" && range != statistics.range() ? 1 : 0;
        return Density(statistics.histogram())
            .effect(choose_affine(range, options.scheme), limits_of(options.scheme))
            .sqnr_db();
      };
      if (shape.values.size() < 10'000) continue;
      // Half a decibel allows for the error of using the bins' centres as their values.
      EXPECT_GE(sqnr("kl"), sqnr("mse") - 1.5) << shape.name << ", " << bits << " bits";
    }
  }
  EXPECT_GT(clipped, 0);
}

TEST(KlMethod, RefusesOptionsWithoutCandidates) {
  const Statistics statistics = statistics_of(Values{1.0F});
  for (const auto& [bins, levels] :
       {std::pair{100, 128}, std::pair{2048, 1}, std::pair{100000, 128}, std::pair{-1, -5}}) {
    MethodOptions options;
    options.bins = bins;
    options.levels = levels;
    EXPECT_THROW(find_method("kl").decide(statistics, options), Error);
  }
}

}  // namespace
}  // namespace qtool
