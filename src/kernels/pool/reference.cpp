#include <algorithm>
#include <cstdint>

#include "kernels/pool/pool.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

struct Window {
  std::int64_t sum = 0;
  std::int64_t inside = 0;
  std::int64_t in_padded = 0;
  std::uint8_t largest = 0;
};

Window look(const PoolShape& shape, const std::uint8_t* in, std::int64_t image, std::int64_t out_y,
            std::int64_t out_x, std::int64_t channel) {
  const std::int64_t stride = shape.in_pixel_stride == 0 ? shape.channels : shape.in_pixel_stride;
  Window window;
  for (std::int64_t i = 0; i < shape.kernel_h; ++i) {
    for (std::int64_t j = 0; j < shape.kernel_w; ++j) {
      const std::int64_t y = out_y * shape.stride_h - shape.pad_top + i * shape.dilation_h;
      const std::int64_t x = out_x * shape.stride_w - shape.pad_left + j * shape.dilation_w;
      if (y >= shape.in_h + shape.pad_bottom || x >= shape.in_w + shape.pad_right) continue;
      ++window.in_padded;
      if (y < 0 || y >= shape.in_h || x < 0 || x >= shape.in_w) continue;
      ++window.inside;
      const std::uint8_t value = in[((image * shape.in_h + y) * shape.in_w + x) * stride + channel];
      window.sum += value;
      window.largest = std::max(window.largest, value);
    }
  }
  return window;
}

template <typename Finish>
void for_each_pooled(const PoolShape& shape, const std::uint8_t* in, std::uint8_t* out,
                     const Finish& finish) {
  const std::int64_t stride = shape.out_pixel_stride == 0 ? shape.channels : shape.out_pixel_stride;
  for (std::int64_t image = 0; image < shape.batch; ++image) {
    for (std::int64_t y = 0; y < shape.out_h; ++y) {
      for (std::int64_t x = 0; x < shape.out_w; ++x) {
        for (std::int64_t c = 0; c < shape.channels; ++c) {
          out[((image * shape.out_h + y) * shape.out_w + x) * stride + c] =
              finish(look(shape, in, image, y, x, c));
        }
      }
    }
  }
}

}  // namespace

void reference_max_pool(const PoolShape& shape, const std::uint8_t* in, std::uint8_t* out) {
  for_each_pooled(shape, in, out, [](const Window& window) { return window.largest; });
}

void reference_average_pool(const PoolShape& shape, const AverageParams& params,
                            const std::uint8_t* in, std::uint8_t* out) {
  for_each_pooled(shape, in, out, [&](const Window& window) {
    const std::int64_t count =
        params.count_padding == CountPadding::kInclude ? window.in_padded : window.inside;
    if (count == 0) return round_to_u8(0.0F, params.zy, params.low, params.high);
    const float multiplier = params.m / static_cast<float>(count);
    const auto sum = static_cast<float>(window.sum - window.inside * params.zx);
    return round_to_u8(sum * multiplier, params.zy, params.low, params.high);
  });
}

}  // namespace qtool
