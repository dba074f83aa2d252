#include "quant/weight_extremes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

namespace qtool {
namespace {

TEST(WeightExtremes, AreThoseOfALoopOverTheWeights) {
  std::mt19937 random(3);
  for (const std::size_t count : {1U, 15U, 300U, 65536U, 65537U, 200000U}) {
    std::vector<std::int8_t> weights(count);
    for (std::int8_t& weight : weights) {
      weight = static_cast<std::int8_t>(static_cast<int>(random() % 200) - 120);
    }
    std::int64_t sum = 0;
    for (const std::int8_t weight : weights) sum += weight;
    const WeightExtremes found = extremes_of(weights);
    EXPECT_EQ(found.sum, sum);
    EXPECT_EQ(found.least, *std::min_element(weights.begin(), weights.end()));
    EXPECT_EQ(found.most, *std::max_element(weights.begin(), weights.end()));
    for (const std::int32_t zero_point : {-128, -7, 0, 90, 127}) {
      std::int64_t largest = 0;
      for (const std::int8_t weight : weights) {
        largest = std::max<std::int64_t>(largest, std::abs(weight - zero_point));
      }
      EXPECT_EQ(found.largest(zero_point), largest) << zero_point;
    }
  }
}

TEST(WeightExtremes, OfTheSmallestNumbersDoNotOverflow) {
  const std::vector<std::int8_t> weights(1U << 25U, -128);
  EXPECT_EQ(extremes_of(weights).sum, -(std::int64_t{1} << 32U));
  EXPECT_EQ(extremes_of(weights).largest(127), 255);
  EXPECT_EQ(extremes_of({}).largest(0), 0);
}

}  // namespace
}  // namespace qtool
