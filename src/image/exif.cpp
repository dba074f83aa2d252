#include <utility>

#include "image/image_header.h"

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

namespace {

// The samples of a width x height image, turned upright.
template <int kChannels>
std::vector<std::uint8_t> turned(const std::vector<std::uint8_t>& samples, std::int64_t width,
                                 std::int64_t height, int orientation) {
  // Orientations from 5 on exchange rows and columns. The rest of the change is a reflection in one
  // or both directions.
  const bool swaps = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  std::vector<std::uint8_t> upright(samples.size());
  std::uint8_t* target = upright.data();
  for (std::int64_t y = 0; y < (swaps ? width : height); ++y) {
    for (std::int64_t x = 0; x < (swaps ? height : width); ++x) {
      const std::int64_t column = swaps ? y : x;
      const std::int64_t row = swaps ? x : y;
      const std::int64_t from_x = from_right ? width - 1 - column : column;
      const std::int64_t from_y = from_bottom ? height - 1 - row : row;
      const std::uint8_t* pixel = samples.data() + kChannels * (from_y * width + from_x);
      for (int c = 0; c < kChannels; ++c) *target++ = pixel[c];
    }
  }
  return upright;
}

}  // namespace

Image apply_orientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  image.pixels = turned<3>(image.pixels, image.width, image.height, orientation);
  if (!image.alpha.empty()) {
    image.alpha = turned<1>(image.alpha, image.width, image.height, orientation);
  }
  if (orientation >= 5) std::swap(image.width, image.height);
  return image;
}

}  // namespace qtool
