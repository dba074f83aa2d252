#include "calib/channel_view.h"

#include <algorithm>

namespace qtool {

TensorView with_last_channels(const TensorView& tensor, Tensor& copy) {
  const Shape& shape = tensor.shape;
  const std::int64_t channels = shape[shape.rank() - 1];
  const std::byte* data = tensor.data;
  if (tensor.layout == Layout::kChannelsLast) {
    copy = Tensor(tensor.dtype, shape);
    const std::int64_t inner = shape.elements() / std::max<std::int64_t>(1, shape[0] * shape[1]);
    const float* from = tensor.values<float>().data();
    float* to = copy.values<float>().data();
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        for (std::int64_t i = 0; i < inner; ++i) *to++ = from[(n * inner + i) * shape[1] + c];
      }
    }
    data = copy.data();
  }
  const std::int64_t pixels =
      channels > 0 && shape[0] > 0 ? shape.elements() / shape[0] / channels : 0;
  return {data, tensor.dtype, Shape{shape[0], channels, pixels}, Layout::kChannelsLast};
}

TensorView with_image_axes(const TensorView& tensor, bool one_channel) {
  const std::int64_t rank = tensor.shape.rank();
  if (rank >= 2 && rank <= 5 && !one_channel) return tensor;
  return {tensor.data, tensor.dtype, Shape{1, 1, tensor.shape.elements()}, Layout::kPlain};
}

}  // namespace qtool
