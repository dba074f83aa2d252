#include <algorithm>

#include "base/text.h"
#include "image/image_header.h"

namespace qtool {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::size_t kOs2Header = 12;

void append_number(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

}  // namespace

ImageHeader read_bmp_header(std::string_view bytes) {
  const auto number = [&](std::size_t at, std::size_t count) {
    return read_number(bytes, at, count, ByteOrder::kLittle);
  };
  const std::size_t offset = number(10, 4);
  const std::size_t info = number(14, 4);
  if (info != kOs2Header && info != 40 && info != 56 && info != 108 && info != 124) {
    fail_image(to_text("has a BMP header of ", info, " bytes, expected 12, 40, 56, 108 or 124"));
  }
  const bool os2 = info == kOs2Header;
  const std::uint32_t width = os2 ? number(18, 2) : number(18, 4);
  const std::uint32_t height = os2 ? number(20, 2) : number(22, 4);
  const std::uint32_t bits = os2 ? number(24, 2) : number(28, 2);
  const std::uint32_t compression = os2 ? 0 : number(30, 4);

  ImageHeader header;
  header.width = width;
  // A negative height says that the first row is the top one.
  header.height = os2 ? height : std::abs(std::int64_t{static_cast<std::int32_t>(height)});
  check_image_size(header.width, header.height);
  header.decoder_bytes = 3 * header.width * header.height;
  const bool indexed = bits == 1 || bits == 4 || bits == 8;
  if (!indexed && bits != 24 && (os2 || (bits != 16 && bits != 32))) {
    fail_image(to_text("has ", bits, " bits per BMP pixel, expected 1, 4, 8, 16, 24 or 32"));
  }
  if (compression != 0 && (compression != 3 || indexed)) {
    fail_image(to_text("has the BMP compression ", compression, ", expected none or bit fields"));
  }
  const std::size_t header_end =
      kFileHeader + info + (compression == 3 && (info == 40 || info == 56) ? 12 : 0);
  if (offset < header_end) fail_image("has BMP pixels inside its header");
  // The padding of the last row may be missing.
  const std::uint64_t row = (std::uint64_t{width} * bits + 7) / 8;
  const std::uint64_t stride = (row + 3) / 4 * 4;
  const std::uint64_t needed =
      stride * (static_cast<std::uint64_t>(header.height) - 1) + row + offset;
  if (bytes.size() < needed) fail_truncated();

  if (indexed) {
    // A palette may be short, or have three bytes per entry. It is rewritten as 256 entries of four
    // bytes, so that an index beyond the palette reads black.
    constexpr std::size_t kEntries = 256;
    std::string& out = header.rewritten;
    out.append(bytes.substr(0, 10));
    append_number(out, kFileHeader + 40 + 4 * kEntries, 4);
    append_number(out, 40, 4);
    append_number(out, width, 4);
    append_number(out, height, 4);
    append_number(out, 1, 2);
    append_number(out, bits, 2);
    out.append(24, '\0');
    const std::size_t entry = os2 ? 3 : 4;
    const std::size_t entries = std::min(kEntries, (offset - header_end) / entry);
    for (std::size_t i = 0; i < entries; ++i) {
      out.append(bytes.substr(header_end + i * entry, 3)).push_back('\0');
    }
    out.append(4 * (kEntries - entries), '\0');
    out.append(bytes.substr(offset));
  } else if (offset > header_end) {
    // The decoder accepts no gap between the header and the pixels.
    std::string& out = header.rewritten;
    out.append(bytes.substr(0, 10));
    append_number(out, static_cast<std::uint32_t>(header_end), 4);
    out.append(bytes.substr(14, header_end - 14));
    out.append(bytes.substr(offset));
  }
  return header;
}

}  // namespace qtool
