#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/elementary/elementary.h"
#include "kernels/vector_math.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"

// Checks every kernel of elementary functions: its results are within a few units in the last place
// of the C library's results in double, and have the same bits in every kernel, in vectors and one
// by one.
namespace qtool {
namespace {

struct ElementaryCase {
  const char* name;
  ElementaryFunction ElementaryFunctions::*kernel;
  ElementaryFunction reference;
  float (*single)(float);
  double most_ulps;
};

const std::vector<ElementaryCase>& elementary_cases() {
  static const std::vector<ElementaryCase> all = {
      {"exp", &ElementaryFunctions::exp, reference_exp, [](float x) { return vector_exp(x); }, 2.5},
      {"expm1", &ElementaryFunctions::expm1, reference_expm1,
       [](float x) { return vector_expm1(x); }, 4.5},
      {"sigmoid", &ElementaryFunctions::sigmoid, reference_sigmoid,
       [](float x) { return vector_sigmoid(x); }, 4.5},
      {"silu", &ElementaryFunctions::silu, reference_silu, [](float x) { return vector_silu(x); },
       5.0},
      {"softplus", &ElementaryFunctions::softplus, reference_softplus,
       [](float x) { return vector_softplus(x); }, 4.5},
      {"tanh", &ElementaryFunctions::tanh, reference_tanh, [](float x) { return vector_tanh(x); },
       4.5},
      {"erf", &ElementaryFunctions::erf, reference_erf, [](float x) { return vector_erf(x); },
       1e9}};  // close in absolute terms only
  return all;
}

double ulps(float found, float exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(static_cast<double>(found) - static_cast<double>(exact)) /
         std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// Ordinary values, mixed with special ones.
std::vector<float> values_of(std::mt19937& random, std::int64_t count) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {0.0F,
                                      -0.0F,
                                      kInfinity,
                                      -kInfinity,
                                      88.8F,
                                      -88.8F,
                                      104.0F,
                                      -104.0F,
                                      1e30F,
                                      -1e30F,
                                      1e-30F,
                                      -1e-30F,
                                      0.4F,
                                      0.5F,
                                      0.7F,
                                      -0.5F,
                                      -0.4F,
                                      1e-42F,
                                      std::numeric_limits<float>::quiet_NaN()};
  std::uniform_real_distribution<float> usual(-20.0F, 20.0F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    const bool odd = tests::pick(random, 0, 3) == 0;
    const auto last = static_cast<std::int64_t>(special.size()) - 1;
    value = odd ? special[static_cast<std::size_t>(tests::pick(random, 0, last))] : usual(random);
  }
  return values;
}

std::uint32_t bits(float x) {
  // The bits of a NaN are not specified.
  return std::isnan(x) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(x);
}

TEST(ElementaryKernel, GivesTheBitsOfTheSingleFunctionInEveryKernelAndPlace) {
  auto random = tests::seeded_generator();
  for (const ElementaryCase& one : elementary_cases()) {
    for (const std::int64_t count : {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000}) {
      const std::vector<float> values = values_of(random, count);
      for (const auto& row : tests::runnable(elementary_kernels())) {
        const ElementaryKernel kernel(tests::only(row.name));
        ASSERT_EQ(kernel.kernel(), row.name);
        const auto bytes = values.size() * sizeof(float);
        const tests::GuardedBuffer from(bytes);
        const tests::GuardedBuffer to(bytes);
        if (bytes > 0) std::memcpy(from.data<float>(), values.data(), bytes);
        (kernel.functions().*one.kernel)(from.data<float>(), to.data<float>(), count);
        for (std::int64_t i = 0; i < count; ++i) {
          const float x = values[static_cast<std::size_t>(i)];
          ASSERT_EQ(bits(to.data<float>()[i]), bits(one.single(x)))
              << one.name << "(" << x << "), " << row.name << ", " << i << " of " << count;
        }
        (kernel.functions().*one.kernel)(from.data<float>(), from.data<float>(),
                                         count);  // in place
        for (std::int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(bits(from.data<float>()[i]), bits(to.data<float>()[i])) << one.name;
        }
      }
    }
  }
}

TEST(ElementaryKernel, IsThatOfTheReference) {
  std::vector<float> values;
  for (std::uint32_t b = 0; b < 0x7f800000U; b += 40009U) {
    for (const float x : {std::bit_cast<float>(b), -std::bit_cast<float>(b)}) {
      if (std::abs(x) < 80.0F && std::abs(x) > 1e-37F) values.push_back(x);
    }
  }
  const auto count = static_cast<std::int64_t>(values.size());
  for (const ElementaryCase& one : elementary_cases()) {
    std::vector<float> exact(values.size());
    std::vector<float> found(values.size());
    one.reference(values.data(), exact.data(), count);
    (ElementaryKernel().functions().*one.kernel)(values.data(), found.data(), count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_LE(ulps(found[i], exact[i]), one.most_ulps) << one.name << "(" << values[i] << ")";

      const double bound = 3e-7 * std::max(1.0, std::abs(static_cast<double>(exact[i])));
      if (one.most_ulps > 1e6) {
        ASSERT_NEAR(found[i], exact[i], bound) << one.name;
      }
    }
  }
}

TEST(ElementaryKernel, SaturatesAndKeepsNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto of = [](ElementaryFunction ElementaryFunctions::*function, float x) {
    float y = 0.0F;
    (ElementaryKernel().functions().*function)(&x, &y, 1);
    return y;
  };
  EXPECT_EQ(of(&ElementaryFunctions::exp, 89.0F), kInfinity);
  EXPECT_EQ(of(&ElementaryFunctions::exp, -kInfinity), 0.0F);
  EXPECT_EQ(of(&ElementaryFunctions::expm1, -kInfinity), -1.0F);
  EXPECT_EQ(of(&ElementaryFunctions::expm1, kInfinity), kInfinity);
  EXPECT_EQ(of(&ElementaryFunctions::sigmoid, -kInfinity), 0.0F);
  EXPECT_EQ(of(&ElementaryFunctions::sigmoid, kInfinity), 1.0F);
  EXPECT_EQ(of(&ElementaryFunctions::softplus, -kInfinity), 0.0F);
  EXPECT_EQ(of(&ElementaryFunctions::tanh, -kInfinity), -1.0F);
  for (const ElementaryCase& one : elementary_cases()) {
    EXPECT_TRUE(std::isnan(of(one.kernel, std::numeric_limits<float>::quiet_NaN()))) << one.name;
  }
}

}  // namespace
}  // namespace qtool
