#include "image/header.h"

namespace qtool {

int exif_orientation(std::string_view tiff) noexcept {
  constexpr unsigned kOrientationTag = 0x0112;
  constexpr unsigned kShort = 3;
  const bool little = tiff.starts_with(std::string_view("II*\0", 4));
  const bool big = tiff.starts_with(std::string_view("MM\0*", 4));
  if ((!little && !big) || tiff.size() < 8) return 1;
  const ByteOrder order = little ? ByteOrder::kLittle : ByteOrder::kBig;
  const std::size_t directory = read_number(tiff, 4, 4, order);
  if (directory > tiff.size() || tiff.size() - directory < 2) return 1;
  const std::size_t entries = read_number(tiff, directory, 2, order);
  std::string_view rest = tiff.substr(directory + 2);
  for (std::size_t i = 0; i < entries && rest.size() >= 12; ++i, rest.remove_prefix(12)) {
    if (read_number(rest, 0, 2, order) != kOrientationTag) continue;
    const unsigned value = read_number(rest, 8, 2, order);
    const bool valid = read_number(rest, 2, 2, order) == kShort && value >= 1 && value <= 8;
    return valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image apply_orientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const std::int64_t width = image.width;
  const std::int64_t height = image.height;
  // From 5 on rows become columns. What remains is a mirror image in one or both directions.
  const bool turned = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image upright{turned ? height : width, turned ? width : height, {}};
  upright.pixels.resize(image.pixels.size());
  const std::uint8_t* source = image.pixels.data();
  std::uint8_t* target = upright.pixels.data();
  for (std::int64_t y = 0; y < upright.height; ++y) {
    for (std::int64_t x = 0; x < upright.width; ++x) {
      const std::int64_t column = turned ? y : x;
      const std::int64_t row = turned ? x : y;
      const std::int64_t from_x = from_right ? width - 1 - column : column;
      const std::int64_t from_y = from_bottom ? height - 1 - row : row;
      const std::uint8_t* pixel = source + 3 * (from_y * width + from_x);
      *target++ = pixel[0];
      *target++ = pixel[1];
      *target++ = pixel[2];
    }
  }
  return upright;
}

}  // namespace qtool
