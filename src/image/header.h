#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/decode_budget.h"
#include "qtool/image/image.h"

// Everything here reads untrusted bytes: each throws Error(kInvalidImage) with the rest of a
// sentence that begins with the name of the file.
namespace qtool {

inline constexpr std::int64_t kMaxImageSide = 65535;
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 28;
inline constexpr std::int64_t kMaxImageFileBytes = std::int64_t{1} << 28;
/// The most memory for decoding one image, the file included; on a small machine, half of its
/// memory.
inline constexpr std::int64_t kMaxDecodeBytes = std::int64_t{1} << 31;

/// Bytes for each pixel that decoding takes more where alpha is kept: one sample in each copy of a
/// 16-bit image.
inline constexpr std::int64_t kAlphaBytes = 3;

[[noreturn]] void fail_image(std::string_view what);
[[noreturn]] void fail_truncated();
/// Throws for an image without pixels or beyond the limits.
void check_image_size(std::int64_t width, std::int64_t height);
/// The same, and Error(kInvalidArgument) when `image` does not hold 3 bytes per pixel.
void check_image(const Image& image);

/// `count` bytes at `at` as a number; fail_truncated() when they are not all there.
enum class ByteOrder { kLittle, kBig };
std::uint32_t read_number(std::string_view bytes, std::size_t at, std::size_t count,
                          ByteOrder order);

/// What is known of a file before its pixels are decoded.
struct ImageHeader {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int orientation = 1;             ///< EXIF, 1 to 8
  std::int64_t decoder_bytes = 0;  ///< the most that the decoder holds at one time
  std::string rewritten;  ///< when not empty, the file in a form that the decoder reads safely
};

/// Walk the whole structure of a file of that format and refuse everything that the decoder does
/// not check itself.
ImageHeader read_jpeg_header(std::string_view bytes);
ImageHeader read_png_header(std::string_view bytes);
ImageHeader read_bmp_header(std::string_view bytes);
ImageHeader read_webp_header(std::string_view bytes);
bool is_webp(std::string_view bytes);

/// The orientation of a TIFF structure as EXIF embeds it; 1 when there is none or it is damaged.
int exif_orientation(std::string_view tiff) noexcept;
/// `image` turned upright.
Image apply_orientation(Image image, int orientation);

/// As decode_image() and load_image(); `lease` must be held as long as the image is in memory.
Image decode_image(std::string_view bytes, std::string_view name,
                   std::optional<DecodeBudget::Lease>& lease, Alpha alpha);
Image load_image(const std::filesystem::path& path, std::optional<DecodeBudget::Lease>& lease,
                 Alpha alpha);

/// The image of a PNM file of type P2, P3, P5 or P6, samples scaled to 255.
Image decode_pnm(std::string_view bytes);
/// The image of a JPEG, PNG or BMP file whose header was read, not yet upright. The decoder gets
/// `decoder_bytes`, and kAlphaBytes for each pixel where alpha is kept, and fails when it asks for
/// more.
Image decode_with_stb(std::string_view bytes, const ImageHeader& header, Alpha alpha);
/// The same of a WebP file.
Image decode_webp(std::string_view bytes, const ImageHeader& header, Alpha alpha);

/// The image in 3 interleaved channels, or with Alpha::kKeep in 4, which are taken apart.
Image image_of(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> channels,
               Alpha alpha);

}  // namespace qtool
