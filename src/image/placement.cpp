#include "image/placement.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "image/image_header.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

std::int64_t scaled(std::int64_t side, double factor) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(side) * factor));
}

// Half the surplus. A half is rounded to the even number, as in torchvision's crop.
std::int64_t half_even(std::int64_t surplus) {
  const std::int64_t half = surplus / 2;
  return half + (surplus % 2 != 0 && half % 2 != 0 ? 1 : 0);
}

}  // namespace

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

}  // namespace qtool
