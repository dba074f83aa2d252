#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/logarithm.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"

// Compares every kernel that computes cross entropies with the naive reference and with the
// portable kernel.
namespace qtool {
namespace {

// Weights of `bins` bins, many of them 0 or nearly 0, on buffers that end at a guarded page.
struct Histogram {
  tests::GuardedBuffer weights;
  tests::GuardedBuffer below;
  LevelledHistogram view;

  Histogram(std::mt19937& random, std::int64_t bins, std::int64_t levels, double smoothing)
      : weights(static_cast<std::size_t>(bins) * sizeof(double)),
        below(static_cast<std::size_t>(bins + 1) * sizeof(double)),
        view{weights.data<double>(), below.data<double>(), levels, smoothing} {
    double* const weight = weights.data<double>();
    std::fill_n(weight, bins, smoothing > 0.0 ? 0.0 : 1e-4);
    std::exponential_distribution<double> fall(4.0 / static_cast<double>(bins));
    for (int i = 0; i < 3000; ++i) {
      const auto bin = static_cast<std::int64_t>(fall(random));
      if (bin < bins) weight[bin] += 1.0 / 3000.0;
    }
    double* const sum = below.data<double>();
    sum[0] = 0.0;
    for (std::int64_t i = 0; i < bins; ++i) sum[i + 1] = sum[i] + weight[i];
  }
};

TEST(CrossEntropyKernel, IsThatOfTheReferenceAndTheSameInEveryKernel) {
  auto random = tests::seeded_generator();
  const CrossEntropyKernel portable(tests::only("portable"));
  for (const std::int64_t levels : {1, 2, 7, 8, 9, 127, 128, 129}) {
    for (const std::int64_t bins : {levels + 1, 2 * levels + 1, 3 * levels + 5, 9 * levels}) {
      for (const double smoothing : {0.0, 1e-4}) {
        const Histogram histogram(random, bins, levels, smoothing);
        const auto numbers = static_cast<std::size_t>(kCrossEntropyScratch * (levels + 1));
        const tests::GuardedBuffer scratch(numbers * sizeof(double));
        for (std::int64_t step = 0; step < 40; ++step) {
          const std::int64_t kept = levels + step * (bins - 1 - levels) / 39;  // up to bins - 1
          const double tail = histogram.view.below[bins] - histogram.view.below[kept];
          const double exact = reference_cross_entropy(histogram.view, kept, tail);
          const double plain = portable.run(histogram.view, kept, tail, scratch.data<double>());
          for (const auto& row : tests::runnable(cross_entropy_kernels())) {
            const CrossEntropyKernel kernel(tests::only(row.name));
            ASSERT_EQ(kernel.kernel(), row.name);
            const double got = kernel.run(histogram.view, kept, tail, scratch.data<double>());
            ASSERT_EQ(got, plain) << row.name << ", " << levels << " levels, " << kept << " of "
                                  << bins;
            ASSERT_NEAR(got, exact, 1e-12)
                << row.name << ", " << levels << " levels, " << kept << " of " << bins;
          }
        }
      }
    }
  }
}

TEST(CrossEntropyKernel, TakesLogarithmsAsTheOneFunctionDoes) {
  auto random = tests::seeded_generator();
  std::uniform_real_distribution<double> exponent(-1000.0, 1000.0);
  for (const unsigned count : {0U, 1U, 2U, 3U, 7U, 8U, 9U, 64U, 1000U}) {
    std::vector<double> values(count);
    for (double& value : values) value = std::exp2(exponent(random));
    if (count > 2) values[count / 2] = 0.0;
    for (const auto& row : tests::runnable(cross_entropy_kernels())) {
      const tests::GuardedBuffer buffer(count * sizeof(double));
      const std::span<double> got(buffer.data<double>(), count);
      std::copy(values.begin(), values.end(), got.begin());
      CrossEntropyKernel(tests::only(row.name)).logarithms(got);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(got[i], logarithm(values[i])) << row.name << ", " << values[i];
      }
    }
  }
}

TEST(Logarithm, IsWithinItsBoundOfTheExactOne) {
  auto random = tests::seeded_generator();
  std::uniform_real_distribution<double> mantissa(0.5, 1.0);
  std::uniform_int_distribution<int> exponent(-1021, 1024);
  const auto check = [](double x) {
    const long double exact = std::log(static_cast<long double>(x));
    const auto error = static_cast<double>(std::fabs(logarithm(x) - exact));
    ASSERT_LE(error, 1e-15 * static_cast<double>(std::fabs(exact))) << x;
  };
  for (int i = 0; i < 200000; ++i) {
    check(std::ldexp(mantissa(random), i % 2 == 0 ? i % 3 : exponent(random)));
  }
  for (int power = 1; power < 53; ++power) {
    check(1.0 + std::ldexp(1.0, -power));
    check(1.0 - std::ldexp(1.0, -power));
  }
  for (const double root : {std::sqrt(0.5), std::sqrt(2.0)}) {
    check(root);
    check(std::nextafter(root, 0.0));
    check(std::nextafter(root, 2.0));
  }
  EXPECT_EQ(logarithm(1.0), 0.0);
  EXPECT_TRUE(std::isfinite(logarithm(0.0)));
}

}  // namespace
}  // namespace qtool
