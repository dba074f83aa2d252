#include <algorithm>
#include <array>

#include "base/text.h"
#include "image/image_header.h"

namespace qtool {
namespace {

constexpr std::size_t kPaletteBytes = 768;

// A fuzzer cannot guess checksums, so builds for fuzzing do not check them.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kChecksums = false;
#else
constexpr bool kChecksums = true;
#endif

// The checksum at the end of every chunk. Source: PNG specification, annex D.
std::uint32_t crc32(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1U) != 0 ? 0xEDB88320U ^ (value >> 1) : value >> 1;
      }
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xFFU] ^ (crc >> 8);
  }
  return ~crc;
}

// The pairs of colour type and sample size that the PNG specification allows.
bool is_valid_kind(unsigned colour, unsigned depth) {
  const bool small = depth == 1 || depth == 2 || depth == 4;
  if (colour == 0) return small || depth == 8 || depth == 16;
  if (colour == 3) return small || depth == 8;
  return (colour == 2 || colour == 4 || colour == 6) && (depth == 8 || depth == 16);
}

// The fields of the first chunk besides the size.
struct PngKind {
  std::int64_t depth = 0;
  unsigned colour = 0;
  bool interlaced = false;

  [[nodiscard]] std::int64_t channels() const {
    constexpr std::array<std::int64_t, 7> kChannels = {1, 0, 3, 1, 2, 0, 4};
    return kChannels[colour];
  }
};

PngKind read_first_chunk(std::string_view data, ImageHeader& header) {
  if (data.size() != 13) fail_image("has a corrupt PNG header");
  header.width = read_number(data, 0, 4, ByteOrder::kBig);
  header.height = read_number(data, 4, 4, ByteOrder::kBig);
  check_image_size(header.width, header.height);
  const unsigned depth = read_number(data, 8, 1, ByteOrder::kBig);
  const unsigned colour = read_number(data, 9, 1, ByteOrder::kBig);
  if (!is_valid_kind(colour, depth)) {
    fail_image(to_text("has the PNG colour type ", colour, " with ", depth,
                       "-bit samples, which does not exist"));
  }
  return {depth, colour, read_number(data, 12, 1, ByteOrder::kBig) != 0};
}

// The most memory that the decoder uses: the compressed data in a buffer that doubles, the inflated
// rows, the samples, and a copy of the samples for each conversion on the way to 8-bit RGB.
std::int64_t png_decoder_bytes(const ImageHeader& header, const PngKind& kind,
                               bool has_transparency, std::size_t file_bytes) {
  const std::int64_t pixels = header.width * header.height;
  const std::int64_t sample = kind.depth == 16 ? 2 : 1;
  std::int64_t rows =
      (header.width * kind.depth + 7) / 8 * kind.channels() * header.height + header.height;
  // The seven passes of an interlaced file have more rows, each rounded up, and the decoder's
  // buffer grows by doubling.
  if (kind.interlaced) rows = 3 * (rows + 4 * (header.width + header.height));
  const bool palette = kind.colour == 3;
  const std::int64_t alpha = has_transparency && !palette ? 1 : 0;
  std::int64_t samples = pixels * (kind.channels() + alpha) * sample;
  if (kind.interlaced) samples += samples / 2 + 1;
  const std::int64_t decoded = rows + samples + (palette ? 3 * pixels : 0);
  const std::int64_t to_colour = samples + 3 * pixels * sample;
  const std::int64_t to_bytes = sample == 2 ? 9 * pixels : 0;
  return 3 * static_cast<std::int64_t>(file_bytes) + std::max({decoded, to_colour, to_bytes});
}

// The file with 256 palette entries, so that an index beyond a short palette reads black.
std::string with_full_palette(std::string_view bytes, std::size_t chunk, std::string_view data) {
  std::string full(bytes.substr(0, chunk));
  full.append(std::string_view("\0\0\3\0PLTE", 8)).append(data);
  full.append(kPaletteBytes - data.size(), '\0');
  full.append(bytes.substr(chunk + 8 + data.size()));  // the decoder does not read the checksum
  return full;
}

}  // namespace

ImageHeader read_png_header(std::string_view bytes) {
  ImageHeader header;
  std::size_t at = 8;
  bool has_palette = false;
  bool has_transparency = false;
  PngKind kind;
  while (true) {
    const std::size_t chunk = at;
    const std::size_t length = read_number(bytes, at, 4, ByteOrder::kBig);
    if (bytes.size() - at < 12 || length > bytes.size() - at - 12) fail_truncated();
    const std::string_view type = bytes.substr(at + 4, 4);
    const std::string_view data = bytes.substr(at + 8, length);
    at += 12 + length;
    const bool critical = type[0] >= 'A' && type[0] <= 'Z';
    if (kChecksums && critical &&
        crc32(bytes.substr(chunk + 4, 4 + length)) !=
            read_number(bytes, at - 4, 4, ByteOrder::kBig)) {
      fail_image("is corrupt: the checksum of a PNG chunk does not match");
    }
    if (header.width == 0) {
      if (type != "IHDR") fail_image("has no PNG header");
      kind = read_first_chunk(data, header);
    } else if (type == "PLTE") {
      if (has_palette || length == 0 || length > kPaletteBytes || length % 3 != 0) {
        fail_image("has a corrupt PNG palette");
      }
      has_palette = true;
      if (length < kPaletteBytes) header.rewritten = with_full_palette(bytes, chunk, data);
    } else if (type == "tRNS") {
      has_transparency = true;
    } else if (type == "eXIf") {
      header.orientation = exif_orientation(data);
    } else if (type == "IEND") {
      header.decoder_bytes = png_decoder_bytes(header, kind, has_transparency, bytes.size());
      return header;
    } else if (critical && type != "IDAT") {
      fail_image("has a critical PNG chunk of an unknown type");
    }
  }
}

}  // namespace qtool
