#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "qtool/image/image.h"

namespace qtool {

using Colour = std::array<std::uint8_t, 3>;

/// Height of a line of text of size 1, with the space to the next line.
inline constexpr std::int64_t kTextHeight = 12;

// The functions below draw into an image. Anything outside of the image is left out.

/// An image of one colour. Throws Error(kInvalidImage) for a size that decode_image() refuses.
Image blank_image(std::int64_t width, std::int64_t height, Colour colour);

/// Fills the rectangle [left, right) x [top, bottom); an `opacity` of 256 covers the old pixels
/// completely.
void fill(Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
          std::int64_t bottom, Colour colour, int opacity = 256);

/// Draws the border of the rectangle [left, right) x [top, bottom). The border is `thickness`
/// pixels wide and lies inside the rectangle.
void outline(Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
             std::int64_t bottom, std::int64_t thickness, Colour colour);

/// Copies all of `source` into the image, with its top left corner at (left, top).
void paste(Image& image, std::int64_t left, std::int64_t top, const Image& source);

/// Writes one line of text with its top left corner at (left, top). Each pixel of the font is
/// `size` pixels wide. Every character that is not printable ASCII becomes one question mark. Only
/// the first 200 characters are written.
/// Source: the font of stb_easy_font.
void draw_text(Image& image, std::int64_t left, std::int64_t top, std::string_view text,
               std::int64_t size, Colour colour);

/// The width in pixels of the text that draw_text() writes.
std::int64_t text_width(std::string_view text, std::int64_t size);

/// The image resized to width x height, antialiased. Throws Error(kInvalidImage) for a size that
/// decode_image() refuses, Error(kInvalidArgument) when `image` does not hold 3 bytes per pixel.
Image resized(const Image& image, std::int64_t width, std::int64_t height);

}  // namespace qtool
