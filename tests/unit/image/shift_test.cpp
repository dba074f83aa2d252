// Images that are moved by some pixels.
#include "image/shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qtool {
namespace {

using testing::ElementsAre;

TEST(Shifted, FillsTheGapWithTheEdges) {
  const Tensor image = Tensor::of<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto moved = [&](std::int64_t right, std::int64_t down) {
    return shifted(image, TensorLayout::kNchw, right, down);
  };
  const Tensor right = moved(1, 0);
  EXPECT_THAT(right.values<float>(), ElementsAre(1, 1, 2, 4, 4, 5));
  const Tensor left = moved(-1, 0);
  EXPECT_THAT(left.values<float>(), ElementsAre(2, 3, 3, 5, 6, 6));
  const Tensor down = moved(0, 1);
  EXPECT_THAT(down.values<float>(), ElementsAre(1, 2, 3, 1, 2, 3));
  const Tensor far = moved(-9, -9);
  EXPECT_THAT(far.values<float>(), ElementsAre(6, 6, 6, 6, 6, 6));
}

TEST(Shifted, MovesWholePixelsInBothLayouts) {
  const Tensor planes = Tensor::of<float>({1, 2, 1, 3}, {1, 2, 3, -1, -2, -3});
  const Tensor pixels = Tensor::of<float>({1, 1, 3, 2}, {1, -1, 2, -2, 3, -3});
  const Tensor of_planes = shifted(planes, TensorLayout::kNchw, 1, 0);
  const Tensor of_pixels = shifted(pixels, TensorLayout::kNhwc, 1, 0);
  EXPECT_THAT(of_planes.values<float>(), ElementsAre(1, 1, 2, -1, -1, -2));
  EXPECT_THAT(of_pixels.values<float>(), ElementsAre(1, -1, 1, -1, 2, -2));
}

}  // namespace
}  // namespace qtool
