#include "image/shift.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace qtool {

Tensor shifted(const TensorView& image, TensorLayout layout, std::int64_t right,
               std::int64_t down) {
  QTOOL_CHECK(image.dtype == DType::kFloat32 && image.shape.rank() == 4);
  const bool planes = layout == TensorLayout::kNchw;
  const auto extent = [&](std::int64_t axis) { return image.shape[axis]; };
  const std::int64_t outer = planes ? extent(0) * extent(1) : extent(0);
  const std::int64_t rows = extent(planes ? 2 : 1);
  const std::int64_t columns = extent(planes ? 3 : 2);
  const std::int64_t pixel = planes ? 1 : extent(3);  // elements that lie together
  Tensor result(DType::kFloat32, image.shape);
  const std::span<const float> from = image.values<float>();
  float* to = result.values<float>().data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t y = 0; y < rows; ++y) {
      const std::int64_t row = o * rows + std::clamp<std::int64_t>(y - down, 0, rows - 1);
      for (std::int64_t x = 0; x < columns; ++x) {
        const std::int64_t column = std::clamp<std::int64_t>(x - right, 0, columns - 1);
        const auto at = static_cast<std::size_t>((row * columns + column) * pixel);
        to = std::ranges::copy(from.subspan(at, static_cast<std::size_t>(pixel)), to).out;
      }
    }
  }
  return result;
}

}  // namespace qtool
