#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/decode_budget.h"
#include "qtool/image/image.h"

// The functions below read untrusted bytes. They throw Error(kInvalidImage). Its message is the
// rest of a sentence that begins with the name of the file.
namespace qtool {

inline constexpr std::int64_t kMaxImageSide = 65535;
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 28;
inline constexpr std::int64_t kMaxImageFileBytes = std::int64_t{1} << 28;
/// The most memory for decoding one image, the file included. Half of the physical memory if that
/// is less.
inline constexpr std::int64_t kMaxDecodeBytes = std::int64_t{1} << 31;

/// The additional bytes per pixel that decoding takes if alpha is kept: one more sample in each
/// copy of a 16-bit image.
inline constexpr std::int64_t kAlphaBytes = 3;

[[noreturn]] void fail_image(std::string_view what);
[[noreturn]] void fail_truncated();
/// Throws for an image without pixels or beyond the limits.
void check_image_size(std::int64_t width, std::int64_t height);
/// Throws as check_image_size(), and Error(kInvalidArgument) when `image` does not hold 3 bytes of
/// colour per pixel, or holds alpha that is not 1 byte per pixel.
void check_image(const Image& image);

enum class ByteOrder { kLittle, kBig };
/// The `count` bytes at position `at` as a number. Calls fail_truncated() when `bytes` ends early.
std::uint32_t read_number(std::string_view bytes, std::size_t at, std::size_t count,
                          ByteOrder order);

/// The properties of a file that are known before its pixels are decoded.
struct ImageHeader {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int orientation = 1;             ///< EXIF, 1 to 8
  std::int64_t decoder_bytes = 0;  ///< the most that the decoder holds at one time
  std::string rewritten;  ///< when not empty, the file in a form that the decoder reads safely
};

/// Each function walks the whole structure of a file of its format. It refuses everything that the
/// decoder does not check itself.
ImageHeader read_jpeg_header(std::string_view bytes);
ImageHeader read_png_header(std::string_view bytes);
ImageHeader read_bmp_header(std::string_view bytes);
ImageHeader read_webp_header(std::string_view bytes);
bool is_webp(std::string_view bytes);

/// The orientation of a TIFF structure as EXIF embeds it; 1 when there is none or it is damaged.
int exif_orientation(std::string_view tiff) noexcept;
/// `image` turned upright.
Image apply_orientation(Image image, int orientation);

/// decode_image() and load_image() with a lease of memory. The caller must hold `lease` as long as
/// the image is in memory.
Image decode_image(std::string_view bytes, std::string_view name,
                   std::optional<DecodeBudget::Lease>& lease, Alpha alpha);
Image load_image(const std::filesystem::path& path, std::optional<DecodeBudget::Lease>& lease,
                 Alpha alpha);

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};
/// The size of the image that load_image() gives, turned upright. Throws as load_image() for a file
/// that cannot be read or whose header is wrong. Cost: reads the file, decodes nothing.
ImageSize size_of_image(const std::filesystem::path& path);

/// The size that the header of a PNM file names.
ImageSize read_pnm_size(std::string_view bytes);
/// The image of a PNM file of type P2, P3, P5 or P6, samples scaled to 255.
Image decode_pnm(std::string_view bytes);
/// Decodes a JPEG, PNG or BMP file whose header was read. The image is not turned upright yet. The
/// decoder may allocate ImageHeader::decoder_bytes, and kAlphaBytes per pixel if alpha is kept. It
/// fails when it asks for more.
Image decode_with_stb(std::string_view bytes, const ImageHeader& header, Alpha alpha);
/// Decodes a WebP file whose header was read. The image is not turned upright yet.
Image decode_webp(std::string_view bytes, const ImageHeader& header, Alpha alpha);

/// Makes an image from 3 interleaved channels. With Alpha::kKeep there are 4, and alpha is
/// separated from the colours.
Image image_of(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> channels,
               Alpha alpha);

}  // namespace qtool
