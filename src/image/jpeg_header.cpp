#include <algorithm>
#include <array>

#include "base/round_up.h"
#include "base/text.h"
#include "image/image_header.h"

namespace qtool {
namespace {

constexpr unsigned kProgressive = 0xC2;
constexpr unsigned kHuffmanTables = 0xC4;
constexpr unsigned kEndOfImage = 0xD9;
constexpr unsigned kScan = 0xDA;
constexpr unsigned kExif = 0xE1;

// Bounds the time: each scan of a progressive file visits every block, even without data. Real
// files have about ten.
constexpr int kMaxScans = 100;

// Markers that no segment follows: a stuffed zero, TEM, restarts and start of image.
bool stands_alone(unsigned marker) {
  return marker == 0x00 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
}

bool is_frame(unsigned marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != kHuffmanTables && marker != 0xC8 &&
         marker != 0xCC;
}

// The decoder stores the symbols of a table in an array of 256 without counting them first.
void check_huffman_tables(std::string_view segment) {
  std::size_t at = 0;
  while (at < segment.size()) {
    std::size_t symbols = 0;
    for (std::size_t i = 1; i <= 16; ++i) {
      symbols += read_number(segment, at + i, 1, ByteOrder::kBig);
    }
    at += 17 + symbols;
    if (symbols > 256 || at > segment.size()) fail_image("has a corrupt Huffman table");
  }
}

// The most memory that the decoder uses: every component's plane in whole blocks, the coefficients
// of a progressive file, and the image.
std::int64_t jpeg_decoder_bytes(const ImageHeader& header, std::string_view frame,
                                bool progressive) {
  constexpr std::int64_t kBlock = 8;
  constexpr std::int64_t kMaxFactor = 4;
  const std::size_t components = read_number(frame, 5, 1, ByteOrder::kBig);
  std::array<std::int64_t, 2> most{1, 1};
  // The blocks of all components in one minimum coded unit.
  std::int64_t blocks_of_all = 0;
  for (std::size_t i = 0; i < components; ++i) {
    const std::int64_t factors = read_number(frame, 7 + 3 * i, 1, ByteOrder::kBig);
    const std::int64_t across = std::clamp<std::int64_t>(factors >> 4, 1, kMaxFactor);
    const std::int64_t down = std::clamp<std::int64_t>(factors & 15, 1, kMaxFactor);
    most = {std::max(most[0], across), std::max(most[1], down)};
    blocks_of_all += across * down;
  }
  const auto groups = [](std::int64_t side, std::int64_t factor) {
    return ceil_div(side, kBlock * factor);
  };
  const std::int64_t planes = groups(header.width, most[0]) * groups(header.height, most[1]) *
                              blocks_of_all * kBlock * kBlock;
  return planes * (progressive ? 3 : 1) + 3 * header.width * header.height + 4 * header.width;
}

// Each block of 8x8 pixels takes at least one bit. Where a file ends early the decoder continues
// with zeros, so a few hundred bytes could cause seconds of work. Only a quarter of that number of
// bits is demanded, because subsampled components have fewer blocks.
void check_coded_bits(const ImageHeader& header, std::size_t bytes) {
  const std::int64_t blocks = (header.width / 8) * (header.height / 8);
  if (static_cast<std::int64_t>(bytes) * 8 < blocks / 4) fail_truncated();
}

}  // namespace

ImageHeader read_jpeg_header(std::string_view bytes) {
  ImageHeader header;
  std::size_t at = 2;
  int scans = 0;
  while (true) {
    // Skips padding between segments, and the coded data between a scan header and the next marker.
    at = bytes.find('\xFF', at);
    at = bytes.find_first_not_of('\xFF', at);
    if (at == std::string_view::npos) break;
    const unsigned marker = read_number(bytes, at, 1, ByteOrder::kBig);
    ++at;
    if (marker == kEndOfImage) break;
    if (stands_alone(marker)) continue;
    const std::size_t length = read_number(bytes, at, 2, ByteOrder::kBig);
    if (length < 2) fail_image("has a JPEG segment shorter than its own length");
    if (length > bytes.size() - at) fail_truncated();
    const std::string_view segment = bytes.substr(at + 2, length - 2);
    at += length;
    if (marker == kScan && ++scans > kMaxScans) {
      fail_image(to_text("has more than ", kMaxScans, " JPEG scans"));
    }
    if (marker == kHuffmanTables) check_huffman_tables(segment);
    if (is_frame(marker) && header.width == 0) {
      if (marker > kProgressive) {
        fail_image(
            "is a lossless, hierarchical or arithmetic JPEG, expected baseline or progressive");
      }
      const unsigned bits = read_number(segment, 0, 1, ByteOrder::kBig);
      if (bits != 8) fail_image(to_text("has ", bits, "-bit JPEG samples, expected 8"));
      header.height = read_number(segment, 1, 2, ByteOrder::kBig);
      header.width = read_number(segment, 3, 2, ByteOrder::kBig);
      check_image_size(header.width, header.height);
      header.decoder_bytes = jpeg_decoder_bytes(header, segment, marker == kProgressive);
    }
    constexpr std::string_view kTag("Exif\0\0", 6);
    if (marker == kExif && header.orientation == 1 && segment.starts_with(kTag)) {
      header.orientation = exif_orientation(segment.substr(kTag.size()));
    }
  }
  if (header.width == 0) fail_image("is a JPEG without a frame");
  check_coded_bits(header, bytes.size());
  return header;
}

}  // namespace qtool
