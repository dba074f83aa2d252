#include "qtool/image/image.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/memory.h"
#include "base/text.h"
#include "image/decode_budget.h"
#include "image/image_header.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

bool is_pnm(std::string_view magic) {
  return magic == "P2" || magic == "P3" || magic == "P5" || magic == "P6";
}

ImageHeader read_header(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xD8")) return read_jpeg_header(bytes);
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return read_png_header(bytes);
  if (bytes.starts_with("BM")) return read_bmp_header(bytes);
  if (is_webp(bytes)) return read_webp_header(bytes);
  const std::string_view found = recognise_foreign_file(bytes);
  fail_image(to_text(found.empty() ? "is not an image that can be read" : found,
                     ", expected a JPEG, PNG, BMP, WebP or PNM (P2, P3, P5, P6) file"));
}

// Takes a lease of `bytes`: throws when they exceed the limit, waits while other threads hold too
// much.
void take(std::int64_t bytes, std::optional<DecodeBudget::Lease>& lease) {
  constexpr std::int64_t kMegabyte = 1 << 20;
  const std::int64_t most = std::min(kMaxDecodeBytes, physical_memory() / 2);
  if (bytes > most) {
    fail_image(to_text("would take ", bytes / kMegabyte, " MB to decode, at most ",
                       most / kMegabyte, " MB are accepted"));
  }
  lease.emplace(DecodeBudget::of_process(), bytes);
}

Image decode(std::string_view bytes, std::optional<DecodeBudget::Lease>& lease, Alpha alpha) {
  if (bytes.empty()) fail_image("is empty");
  const std::int64_t file = std::ssize(bytes);
  if (is_pnm(bytes.substr(0, 2))) {
    take(4 * file, lease);  // the file, and 3 bytes for each byte of a gray file
    return decode_pnm(bytes);
  }
  const ImageHeader header = read_header(bytes);
  // The image is in memory twice while it is copied from the decoder and while it is turned.
  const std::int64_t pixels = header.width * header.height;
  const std::int64_t twice = (alpha == Alpha::kKeep ? 8 : 6) * pixels;
  const std::int64_t decoder =
      header.decoder_bytes + (alpha == Alpha::kKeep ? kAlphaBytes * pixels : 0);
  take(file + std::ssize(header.rewritten) + std::max(decoder, twice), lease);
  Image image =
      is_webp(bytes) ? decode_webp(bytes, header, alpha) : decode_with_stb(bytes, header, alpha);
  return apply_orientation(std::move(image), header.orientation);
}

}  // namespace

void fail_image(std::string_view what) { throw Error(ErrorCode::kInvalidImage, std::string(what)); }

void fail_truncated() { fail_image("ends early: the file is cut off"); }

void check_image_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) fail_image("has no pixels");
  if (width > kMaxImageSide || height > kMaxImageSide || width * height > kMaxImagePixels) {
    fail_image(to_text("has ", width, "x", height, " pixels, at most ", kMaxImageSide,
                       " a side and ", kMaxImagePixels, " in all are accepted"));
  }
}

void check_image(const Image& image) {
  check_image_size(image.width, image.height);
  const std::int64_t pixels = image.width * image.height;
  if (std::ssize(image.pixels) != pixels * 3) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("an image of ", image.width, "x", image.height, " pixels holds ",
                        image.pixels.size(), " bytes, expected 3 per pixel"));
  }
  if (!image.alpha.empty() && std::ssize(image.alpha) != pixels) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("an image of ", image.width, "x", image.height, " pixels has ",
                        image.alpha.size(), " bytes of alpha, expected none or 1 per pixel"));
  }
}

std::uint32_t read_number(std::string_view bytes, std::size_t at, std::size_t count,
                          ByteOrder order) {
  if (at > bytes.size() || count > bytes.size() - at) fail_truncated();
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = order == ByteOrder::kBig ? i : count - 1 - i;
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + from]);
  }
  return value;
}

Image image_of(std::int64_t width, std::int64_t height, std::vector<std::uint8_t> channels,
               Alpha alpha) {
  if (alpha == Alpha::kDrop) return {width, height, std::move(channels)};
  Image image{width, height};
  const auto pixels = static_cast<std::size_t>(width * height);
  image.alpha.resize(pixels);
  for (std::size_t i = 0; i < pixels; ++i) {
    image.alpha[i] = channels[4 * i + 3];
    std::copy_n(&channels[4 * i], 3, &channels[3 * i]);  // in place: every pixel moves to the front
  }
  channels.resize(3 * pixels);
  image.pixels = std::move(channels);
  return image;
}

Image decode_image(std::string_view bytes, std::string_view name,
                   std::optional<DecodeBudget::Lease>& lease, Alpha alpha) {
  try {
    return decode(bytes, lease, alpha);
  } catch (const Error& error) {
    throw Error(error.code(), to_text("image '", name, "' ", error.what()));
  } catch (const std::bad_alloc&) {
    // There is not enough free memory for this image. Other images may fit, so this is an error of
    // the image.
    throw Error(ErrorCode::kInvalidImage,
                to_text("image '", name, "' takes more memory than there is"));
  }
}

Image decode_image(std::string_view bytes, std::string_view name, Alpha alpha) {
  std::optional<DecodeBudget::Lease> lease;
  return decode_image(bytes, name, lease, alpha);
}

Image load_image(const std::filesystem::path& path, std::optional<DecodeBudget::Lease>& lease,
                 Alpha alpha) {
  return decode_image(read_file(path, kMaxImageFileBytes), path.string(), lease, alpha);
}

Image load_image(const std::filesystem::path& path, Alpha alpha) {
  std::optional<DecodeBudget::Lease> lease;
  return load_image(path, lease, alpha);
}

ImageSize size_of_image(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, kMaxImageFileBytes);
  try {
    if (is_pnm(std::string_view(bytes).substr(0, 2))) return read_pnm_size(bytes);
    const ImageHeader header = read_header(bytes);
    if (header.orientation >= 5) return {header.height, header.width};
    return {header.width, header.height};
  } catch (const Error& error) {
    throw Error(error.code(), to_text("image '", path.string(), "' ", error.what()));
  }
}

}  // namespace qtool
