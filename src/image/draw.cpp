#include "image/draw.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "image/image_header.h"
#include "image/resize.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_easy_font.h>
#pragma GCC diagnostic pop

namespace qtool {
namespace {

constexpr std::size_t kMaxLetters = 200;

std::string printable_ascii(std::string_view text) {
  std::string ascii;
  for (const char letter : text) {
    if (ascii.size() == kMaxLetters) break;
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x80 && byte < 0xC0) continue;  // continues a UTF-8 character
    ascii += byte >= 32 && byte < 127 ? letter : '?';
  }
  return ascii;
}

}  // namespace

Image blank_image(std::int64_t width, std::int64_t height, Colour colour) {
  check_image_size(width, height);
  Image image{width, height,
              std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3))};
  fill(image, 0, 0, width, height, colour);
  return image;
}

void fill(Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
          std::int64_t bottom, Colour colour, int opacity) {
  left = std::max<std::int64_t>(left, 0);
  top = std::max<std::int64_t>(top, 0);
  right = std::min(right, image.width);
  bottom = std::min(bottom, image.height);
  for (std::int64_t y = top; y < bottom; ++y) {
    for (std::int64_t x = left; x < right; ++x) {
      std::uint8_t* pixel = image.pixels.data() + (y * image.width + x) * 3;
      for (std::size_t c = 0; c < 3; ++c) {
        pixel[c] = static_cast<std::uint8_t>(
            (pixel[c] * (256 - opacity) + colour[c] * opacity + 128) / 256);
      }
    }
  }
}

void outline(Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
             std::int64_t bottom, std::int64_t thickness, Colour colour) {
  fill(image, left, top, right, std::min(top + thickness, bottom), colour);
  fill(image, left, std::max(bottom - thickness, top), right, bottom, colour);
  fill(image, left, top, std::min(left + thickness, right), bottom, colour);
  fill(image, std::max(right - thickness, left), top, right, bottom, colour);
}

void paste(Image& image, std::int64_t left, std::int64_t top, const Image& source) {
  const std::int64_t begin = std::max<std::int64_t>(0, -left);
  const std::int64_t end = std::min(source.width, image.width - left);
  for (std::int64_t y = std::max<std::int64_t>(0, -top);
       y < std::min(source.height, image.height - top) && begin < end; ++y) {
    std::memcpy(image.pixels.data() + ((top + y) * image.width + left + begin) * 3,
                source.pixels.data() + (y * source.width + begin) * 3,
                static_cast<std::size_t>((end - begin) * 3));
  }
}

void draw_text(Image& image, std::int64_t left, std::int64_t top, std::string_view text,
               std::int64_t size, Colour colour) {
  std::string ascii = printable_ascii(text);
  // Four corners of 16 bytes for each stroke; no letter has more than 16 strokes.
  std::vector<float> corners(ascii.size() * 16 * 16 + 16);
  const int strokes = stb_easy_font_print(0.0F, 0.0F, ascii.data(), nullptr, corners.data(),
                                          static_cast<int>(corners.size() * sizeof(float)));
  for (std::size_t i = 0; i < static_cast<std::size_t>(strokes); ++i) {
    const float* first = corners.data() + i * 16;  // left top; the third corner is right bottom
    const auto at = [&](float x) { return static_cast<std::int64_t>(x) * size; };
    fill(image, left + at(first[0]), top + at(first[1]), left + at(first[8]), top + at(first[9]),
         colour);
  }
}

std::int64_t text_width(std::string_view text, std::int64_t size) {
  std::string ascii = printable_ascii(text);
  return stb_easy_font_width(ascii.data()) * size;
}

Image resized(const Image& image, std::int64_t width, std::int64_t height) {
  check_image(image);
  check_image_size(width, height);
  if (width == image.width && height == image.height) return image;
  return {
      width, height,
      resize({image.width, image.height, 3, image.pixels}, width, height, {0, 0, width, height})};
}

}  // namespace qtool
