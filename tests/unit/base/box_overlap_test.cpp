#include "base/box_overlap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace qtool {
namespace {

template <typename T>
class SharedArea : public testing::Test {};
using FloatingPoints = testing::Types<float, double>;
TYPED_TEST_SUITE(SharedArea, FloatingPoints);

TYPED_TEST(SharedArea, IsWhatBothBoxesCover) {
  const BoxSides<TypeParam> a{0, 0, 4, 3};
  EXPECT_EQ(shared_area(a, a), 12);
  EXPECT_EQ(shared_area(a, {1, 1, 2, 2}), 1) << "one is inside the other";
  EXPECT_EQ(shared_area(a, {3, -1, 9, 2}), 2);
  EXPECT_EQ(shared_area({3, -1, 9, 2}, a), 2);
  EXPECT_EQ(shared_area(a, {-1, -1, TypeParam(0.5), TypeParam(0.5)}), TypeParam(0.25));
}

TYPED_TEST(SharedArea, IsZeroForBoxesApartAndForThoseThatTouch) {
  const BoxSides<TypeParam> a{0, 0, 4, 3};
  EXPECT_EQ(shared_area(a, {4, 0, 5, 3}), 0);
  EXPECT_EQ(shared_area(a, {0, 3, 4, 5}), 0);
  EXPECT_EQ(shared_area(a, {5, 5, 9, 9}), 0) << "both differences are negative";
}

TYPED_TEST(SharedArea, IsZeroForBoxesWithoutAnArea) {
  const BoxSides<TypeParam> a{0, 0, 4, 3};
  EXPECT_EQ(shared_area(a, {3, 2, 1, 1}), 0) << "its sides are in the wrong order";
  EXPECT_EQ(shared_area(a, {2, 0, 2, 3}), 0);
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_EQ(shared_area({nan, nan, nan, nan}, a), 0);
}

TYPED_TEST(SharedArea, MayBeInfinite) {
  const TypeParam far = std::numeric_limits<TypeParam>::max();
  EXPECT_TRUE(std::isinf(shared_area<TypeParam>({-far, -far, far, far}, {-far, -far, far, far})));
}

}  // namespace
}  // namespace qtool
