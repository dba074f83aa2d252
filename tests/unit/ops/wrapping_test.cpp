// Integer arithmetic that wraps around. The results are constants, because the compiler refuses a
// constant whose computation overflows.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "ops/elementwise.h"

namespace qtool {
namespace {

template <typename T>
constexpr T kSmallest = std::numeric_limits<T>::min();
template <typename T>
constexpr T kLargest = std::numeric_limits<T>::max();

TEST(WrappingArithmetic, MultipliesNarrowNumbersWithoutOverflow) {
  // 16-bit numbers are promoted to int, which cannot hold the product of two large ones.
  constexpr std::uint16_t kSquare = wrap_mul(kLargest<std::uint16_t>, kLargest<std::uint16_t>);
  EXPECT_EQ(kSquare, 1);
  constexpr auto kOfNegative = wrap_mul<std::int16_t>(-9485, -9485);
  EXPECT_EQ(kOfNegative, -15703) << "9485 * 9485 = 1373 * 65536 - 15703";
  constexpr auto kByte = wrap_mul<std::int8_t>(-128, -128);
  EXPECT_EQ(kByte, 0);
}

TEST(WrappingArithmetic, WrapsAtTheEndsOfEveryWidth) {
  constexpr auto kSum = wrap_add(kLargest<std::int64_t>, std::int64_t{1});
  EXPECT_EQ(kSum, kSmallest<std::int64_t>);
  constexpr auto kDifference = wrap_sub(kSmallest<std::int32_t>, 1);
  EXPECT_EQ(kDifference, kLargest<std::int32_t>);
  constexpr auto kProduct = wrap_mul(kSmallest<std::int64_t>, std::int64_t{-1});
  EXPECT_EQ(kProduct, kSmallest<std::int64_t>);
  constexpr auto kNarrowSum = wrap_add(kLargest<std::int16_t>, std::int16_t{1});
  EXPECT_EQ(kNarrowSum, kSmallest<std::int16_t>);
  EXPECT_EQ(wrap_mul(1.5F, 2.0F), 3.0F);
}

}  // namespace
}  // namespace qtool
