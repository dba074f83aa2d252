#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "qtool/image/image.h"

namespace qtool {

using Colour = std::array<std::uint8_t, 3>;

/// Height of a line of text of size 1, with the space to the next line.
inline constexpr std::int64_t kTextHeight = 12;

// Drawing into an image. Whatever lies outside of it is left out.

/// An image of one colour. Throws Error(kInvalidArgument) as decode_image() for its size.
Image blank_image(std::int64_t width, std::int64_t height, Colour colour);

/// Fills the rectangle [left, right) x [top, bottom); `opacity` of 256 covers what was there.
void fill(Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
          std::int64_t bottom, Colour colour, int opacity = 256);

/// The border of that rectangle, `thickness` pixels wide, inside of it.
void outline(Image& image, std::int64_t left, std::int64_t top, std::int64_t right,
             std::int64_t bottom, std::int64_t thickness, Colour colour);

/// Copies all of `source` to (left, top).
void paste(Image& image, std::int64_t left, std::int64_t top, const Image& source);

/// Writes one line with its top left corner there, each pixel of the font `size` pixels wide. What
/// is not a printable ASCII character becomes a question mark, one for each UTF-8 character. Only
/// the first 200 characters count.
/// Source: the font of stb_easy_font.
void draw_text(Image& image, std::int64_t left, std::int64_t top, std::string_view text,
               std::int64_t size, Colour colour);

/// Pixels from left to right that draw_text() takes.
std::int64_t text_width(std::string_view text, std::int64_t size);

/// The image resized to width x height, antialiased. Throws Error(kInvalidArgument) for its size.
Image resized(const Image& image, std::int64_t width, std::int64_t height);

}  // namespace qtool
