// Small PNG files that decode to large images: black images of every kind, compressed a thousand to
// one, so that the size of the file adds no slack to the estimate.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "image/image_header.h"
#include "qtool/base/error.h"
#include "unit/image_bytes.h"

namespace qtool {
namespace {

constexpr std::int64_t kWidth = 2047;
constexpr std::int64_t kHeight = 1025;

std::string chunk(std::string_view type, std::string_view data) {
  const std::string body = to_text(type, data);
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : body) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? 0xEDB88320U ^ (crc >> 1) : crc >> 1;
  }
  return big_endian(static_cast<std::uint32_t>(data.size())) + body + big_endian(~crc);
}

// Deflate data in one block of fixed codes: a zero, then copies of 258 zeros from one byte back.
class Zeros {
 public:
  explicit Zeros(std::int64_t count) : bytes_("\x78\x01") {
    put(0b11, 2);  // the last block,
    put(0, 1);     // fixed codes: 01, the low bit first
    literal();
    for (--count; count >= 258; count -= 258) {
      code(0b11000101, 8);  // 258 bytes
      code(0, 5);           // one byte back
    }
    for (; count > 0; --count) literal();
    code(0, 7);  // the end
    put(0, 7);
    bytes_ += std::string(4, '\0');  // the checksum, which the decoder does not read
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void literal() { code(0b00110000, 8); }
  void code(unsigned value, unsigned bits) {  // the high bit first
    while (bits-- > 0) put(value >> bits & 1U, 1);
  }
  void put(unsigned value, unsigned bits) {  // the low bit first
    for (unsigned i = 0; i < bits; ++i) {
      word_ |= (value >> i & 1U) << used_;
      if (++used_ < 8) continue;
      bytes_.push_back(static_cast<char>(word_));
      word_ = used_ = 0;
    }
  }

  std::string bytes_;
  unsigned word_ = 0;
  unsigned used_ = 0;
};

struct PngKind {
  unsigned colour;
  unsigned depth;
  unsigned channels;
};
constexpr std::array kKinds = {PngKind{0, 1, 1},  PngKind{0, 4, 1}, PngKind{0, 8, 1},
                               PngKind{0, 16, 1}, PngKind{2, 8, 3}, PngKind{2, 16, 3},
                               PngKind{3, 1, 1},  PngKind{3, 8, 1}, PngKind{4, 8, 2},
                               PngKind{4, 16, 2}, PngKind{6, 8, 4}, PngKind{6, 16, 4}};
enum class Interlace : std::uint8_t { kNo, kYes };
enum class Transparency : std::uint8_t { kNo, kYes };

// The bytes of the rows before compression: a filter byte and the samples of each row, in up to
// seven passes.
std::int64_t row_bytes(const PngKind& kind, Interlace interlace) {
  struct Pass {
    std::int64_t x, y, every_x, every_y;
  };
  constexpr std::array<Pass, 7> kSeven = {{{0, 0, 8, 8},
                                           {4, 0, 8, 8},
                                           {0, 4, 4, 8},
                                           {2, 0, 4, 4},
                                           {0, 2, 2, 4},
                                           {1, 0, 2, 2},
                                           {0, 1, 1, 2}}};
  const auto rows = [&](const Pass& pass) {
    const std::int64_t width = (kWidth - pass.x + pass.every_x - 1) / pass.every_x;
    const std::int64_t height = (kHeight - pass.y + pass.every_y - 1) / pass.every_y;
    return ((width * kind.channels * kind.depth + 7) / 8 + 1) * height;
  };
  if (interlace == Interlace::kNo) return rows({0, 0, 1, 1});
  std::int64_t bytes = 0;
  for (const Pass& pass : kSeven) bytes += rows(pass);
  return bytes;
}

std::string black_png(const PngKind& kind, Interlace interlace, Transparency transparency) {
  std::string header = big_endian(kWidth) + big_endian(kHeight);
  header.push_back(static_cast<char>(kind.depth));
  header.push_back(static_cast<char>(kind.colour));
  header += std::string(2, '\0');
  header.push_back(interlace == Interlace::kYes ? '\1' : '\0');
  std::string file = to_text("\x89PNG\r\n\x1A\n", chunk("IHDR", header));
  if (kind.colour == 3) file += chunk("PLTE", std::string(6, '\0'));
  if (transparency == Transparency::kYes) {
    file += chunk("tRNS", std::string(kind.colour == 3 ? 1 : 2 * kind.channels, '\0'));
  }
  return to_text(file, chunk("IDAT", Zeros(row_bytes(kind, interlace)).bytes()), chunk("IEND", ""));
}

// Besides its tables, the decoder gets the memory of the header's estimate and not a byte more.
TEST(PngBudget, HoldsForEveryKindOfImage) {
  for (const PngKind& kind : kKinds) {
    for (const Interlace interlace : {Interlace::kNo, Interlace::kYes}) {
      for (const Transparency transparency : {Transparency::kNo, Transparency::kYes}) {
        if (transparency == Transparency::kYes && kind.colour >= 4) continue;
        SCOPED_TRACE(to_text("colour type ", kind.colour, ", ", kind.depth, " bits",
                             interlace == Interlace::kYes ? ", interlaced" : "",
                             transparency == Transparency::kYes ? ", tRNS" : ""));
        const std::string file = black_png(kind, interlace, transparency);
        EXPECT_LT(std::ssize(file), kWidth * kHeight / 16);
        ImageHeader header = read_png_header(file);
        for (const Alpha alpha : {Alpha::kDrop, Alpha::kKeep}) {
          const Image image = decode_with_stb(file, header, alpha);
          EXPECT_EQ(image.pixels, std::vector<std::uint8_t>(3 * kWidth * kHeight, 0));
        }
        // The estimate must not be much too large either, because large images would be refused for
        // no reason.
        header.decoder_bytes = header.decoder_bytes * (interlace == Interlace::kYes ? 3 : 6) / 8;
        EXPECT_THROW(decode_with_stb(file, header, Alpha::kDrop), Error);
      }
    }
  }
}

}  // namespace
}  // namespace qtool
