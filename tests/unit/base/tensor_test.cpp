#include "qtool/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

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

// A view, span or reference into a temporary would dangle, so it must not compile.
static_assert(std::is_constructible_v<TensorView, const Tensor&>);
static_assert(!std::is_constructible_v<TensorView, Tensor>);
template <typename T>
concept HasValues = requires(T&& tensor) {
  std::forward<T>(tensor).template values<float>();
};
static_assert(HasValues<Tensor&> && HasValues<const Tensor&> && !HasValues<Tensor>);
template <typename T>
concept HasNodes = requires(T&& graph) {
  std::forward<T>(graph).nodes();
};
static_assert(HasNodes<const Graph&> && !HasNodes<Graph>);
template <typename T>
concept HasGraph = requires(T&& executor) {
  std::forward<T>(executor).graph();
};
static_assert(HasGraph<const Executor&> && !HasGraph<Executor>);

TEST(TensorView, IsReadAsItsOwnTypeOnly) {
  const Tensor tensor = Tensor::of<std::int8_t>({2}, {-1, 1});
  const TensorView view = tensor;
  EXPECT_EQ(view.values<std::int8_t>()[0], -1);
  EXPECT_THROW(static_cast<void>(view.values<std::uint8_t>()), Error);
  EXPECT_THROW(static_cast<void>(view.values<float>()), Error);
}

TEST(TensorView, ReadsChannelsLastInOnnxOrder) {
  const Tensor nhwc = Tensor::of<std::int8_t>({6}, {1, 10, 2, 20, 3, 30});
  const Tensor nchw =
      to_tensor({nhwc.data(), DType::kInt8, Shape{1, 2, 1, 3}, Layout::kChannelsLast});
  EXPECT_TRUE(identical(nchw, Tensor::of<std::int8_t>({1, 2, 1, 3}, {1, 2, 3, 10, 20, 30})));
}

}  // namespace
}  // namespace qtool
