#include "tensor/axis_stride.h"

namespace qtool {

std::size_t axis_stride(const Shape& shape, Layout layout, std::int64_t axis) {
  const bool channels_last = layout == Layout::kChannelsLast;
  if (channels_last && axis == 1) return 1;
  std::int64_t stride = channels_last ? shape[1] : 1;
  for (std::int64_t behind = axis + 1; behind < shape.rank(); ++behind) {
    if (!channels_last || behind != 1) stride *= shape[behind];
  }
  return static_cast<std::size_t>(stride);
}

}  // namespace qtool
