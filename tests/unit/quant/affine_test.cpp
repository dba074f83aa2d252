#include "qtool/quant/affine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr Scheme kU8{DType::kUInt8, 8, Symmetry::kAsymmetric};
constexpr Scheme kS8{DType::kInt8, 8, Symmetry::kAsymmetric};
constexpr Scheme kS8Symmetric{DType::kInt8, 8, Symmetry::kSymmetric};

TEST(ChooseAffine, GivesTheWorkedExampleOfIao) {
  const Affine affine = choose_affine({-3.0F, 7.0F}, kS8);
  EXPECT_FLOAT_EQ(affine.scale, 10.0F / 255.0F);
  EXPECT_EQ(affine.zero_point, -52);
  EXPECT_EQ(choose_affine({-3.0F, 7.0F}, kU8).zero_point, 76);  // the same point, moved by 128
}

TEST(ChooseAffine, KeepsRealZeroExact) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> real(-50.0F, 50.0F);
  for (int i = 0; i < 10000; ++i) {
    const float a = real(random);
    const float b = real(random);
    const Affine affine = choose_affine({std::min(a, b), std::max(a, b)}, kU8);
    EXPECT_EQ(dequantize_value(quantize_value(0.0F, affine, limits_of(kU8)), affine), 0.0F);
  }
}

TEST(ChooseAffine, GivesTheWholeUnsignedTypeToATensorWithoutNegatives) {
  const Affine affine = choose_affine({0.0F, 6.0F}, kU8);
  EXPECT_EQ(affine.zero_point, 0);
  EXPECT_FLOAT_EQ(affine.scale, 6.0F / 255.0F);
}

TEST(ChooseAffine, DefinesDegenerateRanges) {
  EXPECT_EQ(choose_affine({0.0F, 0.0F}, kU8), (Affine{1.0F, 0}));
  EXPECT_EQ(choose_affine({0.0F, 1e-42F}, kS8Symmetric), (Affine{1.0F, 0}));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(choose_affine({-inf, inf}, kS8), (Affine{1.0F, 0}));
  EXPECT_THROW(choose_affine({1.0F, -1.0F}, kU8), Error);
  EXPECT_THROW(choose_affine({std::nanf(""), 1.0F}, kU8), Error);
}

TEST(LimitsOf, NeverUsesTheLowestIntegerOfASymmetricType) {
  EXPECT_EQ(limits_of(kS8Symmetric).min, -127);
  EXPECT_EQ(limits_of({DType::kInt8, 6, Symmetry::kSymmetric}).max, 31);
  EXPECT_THROW(limits_of({DType::kInt8, 9, Symmetry::kSymmetric}), Error);
  EXPECT_THROW(limits_of({DType::kInt32, 8, Symmetry::kSymmetric}), Error);
}

TEST(QuantizeValue, RoundsTiesToEvenAndSaturates) {
  const Affine unit{1.0F, 0};
  const Limits limits = limits_of(kS8);
  EXPECT_EQ(quantize_value(0.5F, unit, limits), 0);
  EXPECT_EQ(quantize_value(1.5F, unit, limits), 2);
  EXPECT_EQ(quantize_value(2.5F, unit, limits), 2);
  EXPECT_EQ(quantize_value(-0.5F, unit, limits), 0);
  EXPECT_EQ(quantize_value(1e30F, unit, limits), 127);
  EXPECT_EQ(quantize_value(-1e30F, unit, limits), -128);
  EXPECT_EQ(quantize_value(std::nanf(""), {1.0F, 3}, limits), 3);
}

}  // namespace
}  // namespace qtool
