#include "qtool/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "qtool/base/error.h"

namespace qtool {
namespace {

TEST(Shape, RefusesProductsThatOverflow) {
  const Shape shape{std::int64_t{1} << 30, std::int64_t{1} << 30};
  EXPECT_THROW(static_cast<void>(shape.elements()), Error);
  EXPECT_EQ(Shape({0, std::int64_t{1} << 62}).elements(), 0);
  EXPECT_THROW(Shape({-1}), Error);
}

TEST(Tensor, IsAlignedAndZeroWhenMade) {
  const Tensor tensor(DType::kFloat32, {3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
  for (const float value : tensor.values<float>()) EXPECT_EQ(value, 0.0F);
}

TEST(Tensor, RefusesTheWrongElementType) {
  const Tensor tensor(DType::kInt8, {2});
  EXPECT_THROW(static_cast<void>(tensor.values<float>()), Error);
  EXPECT_THROW(Tensor::of<float>({3}, {1.0F, 2.0F}), Error);
}

TEST(Float16, RoundTripsEveryBitPattern) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<Float16>(bits);
    const float value = to_float(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(static_cast<std::uint32_t>(to_float16(value)), bits);
  }
}

TEST(TensorView, ReadsChannelsLastInOnnxOrder) {
  const Tensor nhwc = Tensor::of<std::int8_t>({6}, {1, 10, 2, 20, 3, 30});
  const Tensor nchw =
      to_tensor({nhwc.data(), DType::kInt8, Shape{1, 2, 1, 3}, Layout::kChannelsLast});
  EXPECT_TRUE(identical(nchw, Tensor::of<std::int8_t>({1, 2, 1, 3}, {1, 2, 3, 10, 20, 30})));
}

}  // namespace
}  // namespace qtool
