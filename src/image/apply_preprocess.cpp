#include <algorithm>
#include <array>

#include "base/text.h"
#include "image/image_header.h"
#include "image/placement.h"
#include "image/resize.h"
#include "qtool/base/error.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

bool blue_first(ChannelOrder order) {
  return order == ChannelOrder::kBgr || order == ChannelOrder::kBgra;
}

// The normalized value of each of the 256 bytes in channel `c`.
std::array<float, 256> make_table(const Preprocess& p, std::size_t c) {
  const float mean = p.mean.size() == 1 ? p.mean[0] : p.mean[c];
  const float std = p.std.size() == 1 ? p.std[0] : p.std[c];
  std::array<float, 256> table;
  for (std::size_t value = 0; value < table.size(); ++value) {
    table[value] = (static_cast<float>(value) - mean) / std;
  }
  return table;
}

void apply_placed(const Image& image, const Preprocess& p, const Geometry& geometry,
                  std::span<float> out) {
  const std::int64_t channels = channels_of(p.channels);
  const Raster raster{image.width, image.height, channels, image.pixels, image.alpha};
  const Rectangle& part = geometry.part;
  const bool resizes = geometry.width != image.width || geometry.height != image.height;
  std::vector<std::uint8_t> resized;
  if (resizes) resized = resize(raster, geometry.width, geometry.height, part);

  const bool planar = p.layout == TensorLayout::kNchw;
  const std::int64_t target_pixels = geometry.target_width * geometry.target_height;
  const std::int64_t step = planar ? 1 : channels;
  std::array<std::array<float, 256>, 4> tables;
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::array<float, 256>& table = tables[static_cast<std::size_t>(c)] =
        make_table(p, static_cast<std::size_t>(c));
    if (part.width == geometry.target_width && part.height == geometry.target_height) continue;
    float* plane = out.data() + (planar ? c * target_pixels : c);
    for (std::int64_t i = 0; i < target_pixels; ++i) plane[i * step] = table[p.fill];
  }
  std::vector<std::uint8_t> room;
  for (std::int64_t y = 0; y < part.height; ++y) {
    const std::uint8_t* pixels = resizes ? resized.data() + y * part.width * channels
                                         : raster.row(part.top + y, room) + part.left * channels;
    const std::int64_t begin = (geometry.top + y) * geometry.target_width + geometry.left;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::array<float, 256>& table = tables[static_cast<std::size_t>(c)];
      const std::uint8_t* row = pixels + (blue_first(p.channels) && c < 3 ? 2 - c : c);
      float* target = out.data() + (planar ? c * target_pixels : c) + begin * step;
      for (std::int64_t x = 0; x < part.width; ++x) target[x * step] = table[row[x * channels]];
    }
  }
}

}  // namespace

void apply(const Image& image, const Preprocess& preprocess, std::span<float> out) {
  check(preprocess);
  check_image(image);
  const Geometry geometry = geometry_of(preprocess, image.width, image.height);
  const Shape shape = shape_of(preprocess, geometry);
  if (std::ssize(out) != shape.elements()) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("the room for a preprocessed image holds ", out.size(),
                        " numbers, expected those of ", shape.to_string()));
  }
  apply_placed(image, preprocess, geometry, out);
}

Tensor preprocess_image(const Image& image, const Preprocess& preprocess) {
  check(preprocess);
  check_image(image);
  const Geometry geometry = geometry_of(preprocess, image.width, image.height);
  Tensor tensor(DType::kFloat32, shape_of(preprocess, geometry));
  apply_placed(image, preprocess, geometry, tensor.values<float>());
  return tensor;
}

}  // namespace qtool
