#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "image/image_header.h"
#include "image/resize.h"
#include "qtool/base/error.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

// Geometry of one image: it is resized to width x height. `part` of the result is kept and placed
// at (left, top) of the target.
struct Geometry {
  std::int64_t width = 0;
  std::int64_t height = 0;
  Rectangle part;
  std::int64_t target_width = 0;
  std::int64_t target_height = 0;
  std::int64_t left = 0;
  std::int64_t top = 0;
};

std::int64_t scaled(std::int64_t side, double factor) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(side) * factor));
}

// Half the surplus. A half is rounded to the even number, as in torchvision's crop.
std::int64_t half_even(std::int64_t surplus) {
  const std::int64_t half = surplus / 2;
  return half + (surplus % 2 != 0 && half % 2 != 0 ? 1 : 0);
}

Geometry geometry_of(const Preprocess& p, std::int64_t width, std::int64_t height) {
  Geometry geometry;
  geometry.width = width;
  geometry.height = height;
  switch (p.resize) {
    case ResizeMode::kNone:
      break;
    case ResizeMode::kSquash:
      geometry.width = p.resize_width;
      geometry.height = p.resize_height;
      break;
    case ResizeMode::kShorterSide:
      geometry.width = p.resize_shorter * width / std::min(width, height);
      geometry.height = p.resize_shorter * height / std::min(width, height);
      break;
    case ResizeMode::kLetterbox: {
      const double factor =
          std::min(static_cast<double>(p.resize_width) / static_cast<double>(width),
                   static_cast<double>(p.resize_height) / static_cast<double>(height));
      geometry.width = std::min(p.resize_width, scaled(width, factor));
      geometry.height = std::min(p.resize_height, scaled(height, factor));
      break;
    }
  }
  geometry.part = {0, 0, geometry.width, geometry.height};
  geometry.target_width = geometry.width;
  geometry.target_height = geometry.height;
  if (p.resize == ResizeMode::kLetterbox) {
    geometry.target_width = p.resize_width;
    geometry.target_height = p.resize_height;
    geometry.left = (p.resize_width - geometry.width) / 2;
    geometry.top = (p.resize_height - geometry.height) / 2;
  }
  if (p.crop_width != 0) {
    if (geometry.width < p.crop_width || geometry.height < p.crop_height) {
      fail_image(to_text("an image of ", geometry.width, "x", geometry.height,
                         " pixels is smaller than the crop of ", p.crop_width, "x", p.crop_height));
    }
    geometry.part = {half_even(geometry.width - p.crop_width),
                     half_even(geometry.height - p.crop_height), p.crop_width, p.crop_height};
    geometry.target_width = p.crop_width;
    geometry.target_height = p.crop_height;
  }
  // The second product is the size of the buffer between the two passes of the resize.
  if (geometry.target_width * geometry.target_height > kMaxPixels ||
      geometry.part.width * height > 4 * kMaxPixels) {
    fail_image(to_text("an image of ", width, "x", height, " pixels would grow beyond ", kMaxPixels,
                       " pixels"));
  }
  return geometry;
}

Shape shape_of(const Preprocess& p, const Geometry& geometry) {
  const std::int64_t channels = channels_of(p.channels);
  if (p.layout == TensorLayout::kNhwc) {
    return {1, geometry.target_height, geometry.target_width, channels};
  }
  return {1, channels, geometry.target_height, geometry.target_width};
}

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

Shape output_shape(const Preprocess& preprocess, std::int64_t width, std::int64_t height) {
  check(preprocess);
  check_image_size(width, height);
  return shape_of(preprocess, geometry_of(preprocess, width, height));
}

InputPlacement placement_of(const Preprocess& preprocess, std::int64_t width, std::int64_t height) {
  check(preprocess);
  check_image_size(width, height);
  const Geometry geometry = geometry_of(preprocess, width, height);
  InputPlacement placement;
  placement.input_width = geometry.target_width;
  placement.input_height = geometry.target_height;
  placement.x_offset = geometry.part.left - geometry.left;
  placement.y_offset = geometry.part.top - geometry.top;
  placement.x_scale = static_cast<double>(width) / static_cast<double>(geometry.width);
  placement.y_scale = static_cast<double>(height) / static_cast<double>(geometry.height);
  return placement;
}

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
