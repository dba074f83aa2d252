#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qtool {

/// An RGB image that is read row by row: as it is, with its alpha, or converted to gray. Rows are
/// converted one at a time, so that no second image is in memory.
struct Raster {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;              ///< of the rows: 1 (gray), 3, or 4 with alpha
  std::span<const std::uint8_t> rgb;      ///< 3 bytes per pixel
  std::span<const std::uint8_t> alpha{};  ///< 1 byte per pixel; empty: all opaque

  /// Row `y` as width * channels samples, possibly stored in `room`.
  /// Gray is ITU-R 601 luma in 16-bit fixed point, with the weights Pillow uses.
  [[nodiscard]] const std::uint8_t* row(std::int64_t y, std::vector<std::uint8_t>& room) const;
};

/// A rectangle of pixels.
struct Rectangle {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Resizes `source` to width x height and returns the pixels of `part`, a rectangle of the result,
/// as dense interleaved samples.
/// Triangle filter of support max(1, reduction) source pixels around the centre of each target
/// pixel, clipped at the borders, normalised; weights as integers of 22 bits, rounded half away
/// from zero; columns first, rounded to 8 bits, then rows.
/// Source: Pillow, src/libImaging/Resample.c (bit-identical to BILINEAR).
std::vector<std::uint8_t> resize(const Raster& source, std::int64_t width, std::int64_t height,
                                 const Rectangle& part);

}  // namespace qtool
