#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/weight_sums/weight_sums.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"

namespace qtool {
namespace {

void expect_reference_sums(std::span<const float> weights, const WeightSteps& steps) {
  const WeightSumsValues exact = reference_weight_sums(weights, steps);
  for (const auto& row : tests::runnable(weight_sums_kernels())) {
    SCOPED_TRACE(row.name);
    const tests::GuardedBuffer buffer(weights.size_bytes());
    const std::span<float> guarded(buffer.data<float>(), weights.size());
    std::copy(weights.begin(), weights.end(), guarded.begin());
    const WeightSumsKernel kernel(tests::only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    const WeightSumsValues got = kernel.run(guarded, steps);
    EXPECT_EQ(got.products, exact.products);
    EXPECT_EQ(got.squares, exact.squares);
  }
}

TEST(WeightSumsKernel, GivesTheBitsOfTheReference) {
  auto random = tests::seeded_generator();
  std::normal_distribution<float> weight(0.0F, 0.1F);
  for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 1000, 4611}) {
    std::vector<float> weights(static_cast<std::size_t>(count));
    for (float& w : weights) w = weight(random);
    for (const double scale : {0.001, 0.0037, 0.04, 3.0}) {
      for (const auto& [low, high] : {std::pair{-127.0, 127.0}, {-8.0, 7.0}, {0.0, 255.0}}) {
        SCOPED_TRACE(testing::Message()
                     << count << " weights, scale " << scale << ", high " << high);
        expect_reference_sums(weights, {1.0 / scale, low, high});
      }
    }
  }
}

TEST(WeightSumsKernel, RoundsHalvesToEvenAndClampsExtremes) {
  const std::vector<float> weights{0.5F,  1.5F,   2.5F,   -0.5F, -1.5F,  -2.5F,  126.5F,
                                   3e38F, -3e38F, 1e-45F, -0.0F, 127.5F, -127.5F};
  expect_reference_sums(weights, {1.0, -127.0, 127.0});
  expect_reference_sums(weights, {1.0, -32767.0, 32767.0});
}

}  // namespace
}  // namespace qtool
