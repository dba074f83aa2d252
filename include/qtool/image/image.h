#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// An image: always RGB, 3 bytes per pixel, row-major from the top left, without padding.
struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels;  ///< height * width * 3 bytes
  friend bool operator==(const Image&, const Image&) = default;
};

/// The image in the JPEG, PNG, BMP or PNM (P2, P3, P5, P6) file `bytes`, upright.
/// Gray is repeated into the three channels, alpha is dropped (not blended), CMYK becomes RGB, of
/// 16-bit PNG samples the high byte is kept, PNM samples are scaled to 255, and the EXIF
/// orientation of JPEG and PNG files is applied; embedded colour profiles are ignored. Throws
/// Error(kInvalidImage) that names `name` when the format is another one, when the file is corrupt
/// or ends early, or when the image has a side above 65,535, more than 2^28 pixels, or takes over
/// 2 GiB: sizes are checked before memory is taken. Cost: one pass; for a 299x299 JPEG about 1 ms.
/// Source: stb_image for JPEG, PNG and BMP.
Image decode_image(std::string_view bytes, std::string_view name);

/// decode_image of a file of at most 2^28 bytes. Throws Error(kIo) when it cannot be read.
Image load_image(const std::filesystem::path& path);

/// The image as a PNG file. Throws Error(kInvalidArgument) when `image` holds another number of
/// bytes than 3 per pixel, Error(kUnsupported) when it takes more memory than there is.
/// Source: stb_image_write.
std::string encode_png(const Image& image);

}  // namespace qtool
