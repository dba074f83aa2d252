#include "tensor/axis_stride.h"

#include <gtest/gtest.h>

namespace qtool {
namespace {

TEST(AxisStride, CountsElementsInMemory) {
  const Shape shape{2, 3, 5, 7};
  EXPECT_EQ(axis_stride(shape, Layout::kPlain, 0), 105U);
  EXPECT_EQ(axis_stride(shape, Layout::kPlain, 1), 35U);
  EXPECT_EQ(axis_stride(shape, Layout::kPlain, 3), 1U);
  EXPECT_EQ(axis_stride(shape, Layout::kChannelsLast, 0), 105U);
  EXPECT_EQ(axis_stride(shape, Layout::kChannelsLast, 1), 1U);
  EXPECT_EQ(axis_stride(shape, Layout::kChannelsLast, 2), 21U);
  EXPECT_EQ(axis_stride(shape, Layout::kChannelsLast, 3), 3U);
}

}  // namespace
}  // namespace qtool
