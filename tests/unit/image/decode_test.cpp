#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "image/image_header.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"
#include "support/places.h"
#include "unit/image_bytes.h"
#include "unit/peak_memory.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;

std::string decode_refusal(std::string_view bytes) {
  try {
    static_cast<void>(decode_image(bytes, "cat.jpg"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidImage);
    EXPECT_THAT(error.what(), HasSubstr("image 'cat.jpg' "));
    return error.what();
  }
  return "accepted";
}

/// During its lifetime the process may take at most `bytes` more memory than at its beginning.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(resident_bytes("VmSize") + bytes);
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

/// Every encoded image among the golden files.
std::vector<std::string> samples() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(kSourceFolder) / "tests/golden/image")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("decode_") || name.starts_with("turned_")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> bytes;
  for (const fs::path& path : paths) bytes.push_back(read_file(path, 1 << 20));
  return bytes;
}

/// Checks that decoding gives an image of the right size or an Error of the right kind.
void decode_or_refuse(std::string_view bytes) {
  try {
    const Image image = decode_image(bytes, "fuzz");
    EXPECT_EQ(std::ssize(image.pixels), image.width * image.height * 3);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidImage);
  }
}

TEST(DecodeImage, ReadsEveryPnmType) {
  EXPECT_THAT(decode_image("P6 1 2 255\n\1\2\3\4\5\6", "x").pixels, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(decode_image("P5\n# c 9\n1 1\n255\n\7", "x").pixels, ElementsAre(7, 7, 7));
  EXPECT_THAT(decode_image("P3 1 1 255 10 20 30", "x").pixels, ElementsAre(10, 20, 30));
  EXPECT_THAT(decode_image("P2 2 1 3 0 2\n", "x").pixels, ElementsAre(0, 0, 0, 170, 170, 170));
  EXPECT_THAT(decode_image(std::string_view("P5 1 1 65535 \x80\x00", 15), "x").pixels,
              ElementsAre(128, 128, 128));
}

TEST(SizeOfImage, IsThatOfTheDecodedImage) {
  const fs::path folder = fs::path(testing::TempDir()) / "qtool_size_of_image";
  fs::create_directories(folder);
  write_file(folder / "a.ppm", "P3 # a comment\n2 1 255\n1 2 3 4 5 6\n");
  write_file(folder / "b.png", encode_png({3, 2, std::vector<std::uint8_t>(18)}));
  write_file(folder / "c.png", "no image");
  EXPECT_EQ(size_of_image(folder / "a.ppm"), (ImageSize{2, 1}));
  EXPECT_EQ(size_of_image(folder / "b.png"), (ImageSize{3, 2}));
  EXPECT_THROW(size_of_image(folder / "c.png"), Error);
  fs::remove_all(folder);
}

TEST(DecodeImage, RefusesPnmThatLies) {
  EXPECT_THAT(decode_refusal("P6 100 100 255 abc"), HasSubstr("ends early"));
  EXPECT_THAT(decode_refusal("P3 60000 60000 255 1"), HasSubstr("pixels, at most"));
  EXPECT_THAT(decode_refusal("P5 0 3 255 a"), HasSubstr("no pixels"));
  EXPECT_THAT(decode_refusal("P5 99999999999 3 255 a"), HasSubstr("above 65535"));
  EXPECT_THAT(decode_refusal("P5 -1 3 255 a"), HasSubstr("expects a number"));
  EXPECT_THAT(decode_refusal("P5 1 1 0 a"), HasSubstr("sample limit of 0"));
  EXPECT_THAT(decode_refusal("P6"), HasSubstr("ends early"));
}

TEST(DecodeImage, NamesFilesThatAreNoImages) {
  EXPECT_THAT(decode_refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(decode_refusal("GIF89a"),
              HasSubstr("is a GIF image, expected a JPEG, PNG, BMP, WebP or PNM"));
  EXPECT_THAT(decode_refusal("version https://git-lfs.github.com/spec/v1\noid sha256:1"),
              HasSubstr("is a Git LFS pointer, not the file itself; run 'git lfs pull'"));
  EXPECT_THAT(decode_refusal("hello"),
              HasSubstr("is not an image that can be read, expected a JPEG"));
  EXPECT_THAT(decode_refusal("\xFF\xD8"), HasSubstr("JPEG without a frame"));
  EXPECT_THROW(static_cast<void>(load_image("/nowhere/x.jpg")), Error);
}

TEST(DecodeImage, RefusesWebpThatLiesOrMoves) {
  EXPECT_THAT(decode_refusal("RIFF\1\2\3\4WEBPVP8 "), HasSubstr("ends early"));
  EXPECT_THAT(decode_refusal(std::string_view("RIFF\4\0\0\0WEBP", 12)), HasSubstr("corrupt WebP"));
  EXPECT_THAT(decode_refusal(golden("animated.webp")),
              HasSubstr("is an animated WebP, expected a single"));
  std::string webp = golden("decode_lossless.webp");
  webp[21] = '\xFF';  // the width
  EXPECT_THAT(decode_refusal(webp),
              testing::AnyOf(HasSubstr("corrupt WebP"), HasSubstr("ends early")));
}

// While a lossless WebP of 16383x16383 pixels is decoded, it takes 4 bytes per pixel besides the
// image, and tables.
TEST(DecodeImage, KnowsWhatALosslessWebpTakesBeforeItIsDecoded) {
  std::string webp = golden("decode_lossless.webp");
  const std::size_t size = webp.find("VP8L") + 9;
  webp.replace(size, 3, "\xFE\xBF\xFF");  // 14 bits of the width less 1, and of the height
  webp[size + 3] = static_cast<char>((webp[size + 3] & 0xF0) | 0x0F);
  const ImageHeader header = read_webp_header(webp);
  EXPECT_EQ(header.width, 16383);
  EXPECT_GT(header.height, 16000);
  EXPECT_GT(header.decoder_bytes, 9 * header.width * header.height);
  EXPECT_THAT(decode_refusal(webp), HasSubstr("MB to decode, at most"));
}

TEST(DecodeImage, RefusesEveryCutOffFile) {
  for (const std::string& bytes : samples()) {
    // A BMP is still whole without the padding of its last row.
    const std::size_t whole = bytes.size() - (bytes.starts_with("BM") ? 4 : 0);
    for (std::size_t size = 0; size < whole; ++size) {
      EXPECT_NE(decode_refusal(bytes.substr(0, size)), "accepted")
          << size << " of " << bytes.size();
    }
  }
}

TEST(DecodeImage, ChecksSizesBeforeItTakesMemory) {
  std::string jpeg = golden("decode_gray.jpg");
  const std::size_t frame = jpeg.find("\xFF\xC0");
  jpeg.replace(frame + 5, 4, big_endian(0xFFFFFFFFU, 4));
  EXPECT_THAT(decode_refusal(jpeg), HasSubstr("65535x65535 pixels, at most"));
  std::string bmp = golden("decode_rgb.bmp");
  bmp.replace(22, 4, std::string("\0\0\0\x80", 4));
  EXPECT_THAT(decode_refusal(bmp), HasSubstr("x2147483648 pixels, at most"));
}

TEST(DecodeImage, RefusesWhatTakesMoreMemoryThanIsLeft) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need address space without a limit";
  std::string webp = golden("decode_lossy.webp");
  // The image has 16000x16000 pixels, so that the memory that earlier tests have freed is not
  // enough. A machine with little memory refuses the image before decoding.
  webp.replace(webp.find("\x9D\x01\x2A") + 3, 4, "\x80\x3E\x80\x3E");
  const MemoryLimit limit(std::int64_t{64} << 20);
  EXPECT_THAT(decode_refusal(webp), testing::AnyOf(HasSubstr("takes more memory than there is"),
                                                   HasSubstr("MB to decode, at most")));
}

TEST(DecodeImage, RefusesPngWithAWrongChecksum) {
  std::string png = golden("decode_alpha.png");
  const std::size_t data = png.find("IDAT");
  png[data + 20] = static_cast<char>(png[data + 20] ^ 1);
  EXPECT_THAT(decode_refusal(png), HasSubstr("checksum"));
}

TEST(DecodeImage, RefusesHuffmanTablesBeyondTheDecodersRoom) {
  std::string jpeg = golden("decode_gray.jpg");
  const std::size_t table = jpeg.find("\xFF\xC4");
  const std::string overfull =
      to_text("\xFF\xC4", big_endian(2 + 17 + 510, 2), std::string(1, '\0'), "\xFF\xFF",
              std::string(14, '\0'), std::string(510, 'x'));
  jpeg.insert(table, overfull);
  EXPECT_THAT(decode_refusal(jpeg), HasSubstr("corrupt Huffman table"));
}

TEST(DecodeImage, RefusesAJpegOfFewerBitsThanBlocks) {
  std::string jpeg = golden("decode_gray.jpg");
  const std::size_t frame = jpeg.find("\xFF\xC0");
  jpeg.replace(frame + 5, 4, big_endian((8000U << 16U) | 8000U, 4));
  EXPECT_THAT(decode_refusal(jpeg), HasSubstr("ends early"));
}

TEST(DecodeImage, RefusesJpegWithScansWithoutEnd) {
  std::string jpeg = golden("decode_gray.jpg");
  const std::size_t scan = jpeg.find("\xFF\xDA");
  const std::string header = jpeg.substr(scan, 10);
  std::string many;
  for (int i = 0; i < 200; ++i) many += header;
  jpeg.insert(scan, many);
  EXPECT_THAT(decode_refusal(jpeg), HasSubstr("more than 100 JPEG scans"));
}

TEST(DecodeImage, SurvivesCoefficientsThatOverflow) {
  // Two blocks, each with a DC step of 32767, quantized by 65535.
  const std::string scan("\x7F\xFF\x00\x3F\xFF\x00\xBF", 7);
  const std::string lengths = std::string(1, '\1') + std::string(15, '\0');
  const std::string jpeg =
      to_text("\xFF\xD8\xFF\xDB", big_endian(131, 2), '\x10', std::string(128, '\xFF'),  //
              "\xFF\xC0", big_endian(11, 2), '\x08', big_endian(8, 2), big_endian(16, 2),
              std::string("\1\1\x11\0", 4),                                            //
              "\xFF\xC4", big_endian(20, 2), std::string(1, '\x00'), lengths, '\x0F',  //
              "\xFF\xC4", big_endian(20, 2), '\x10', lengths, std::string(1, '\0'),    //
              "\xFF\xDA", big_endian(8, 2), std::string("\1\1\0\0\x3F\0", 6), scan, "\xFF\xD9");
  const Image image = decode_image(jpeg, "x");
  EXPECT_EQ(image.width, 16);
  EXPECT_EQ(image.height, 8);
}

TEST(DecodeImage, ReadsIndicesBeyondAShortPaletteAsBlack) {
  // 2x1 pixels of 8 bits, a palette of two entries, indices 1 and 200.
  std::string bmp("BM\0\0\0\0\0\0\0\0\x3E\0\0\0\x28\0\0\0\2\0\0\0\1\0\0\0\1\0\x08\0", 30);
  bmp += std::string(24, '\0') + std::string("\1\2\3\0\4\5\6\0", 8) + "\x01\xC8";
  EXPECT_THAT(decode_image(bmp, "x").pixels, ElementsAre(6, 5, 4, 0, 0, 0));
}

TEST(DecodeImage, SkipsAGapBeforeBmpPixels) {
  std::string bmp = golden("decode_rgb.bmp");
  const Image expected = decode_image(bmp, "x");
  bmp = to_text(bmp.substr(0, 54), "gap", bmp.substr(54));
  bmp[10] = static_cast<char>(bmp[10] + 3);
  EXPECT_EQ(decode_image(bmp, "x"), expected);
}

TEST(ExifOrientation, ReadsBothByteOrdersAndIgnoresDamage) {
  const std::string little("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 22);
  const std::string big("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\x08\0\0", 22);
  EXPECT_EQ(exif_orientation(little), 6);
  EXPECT_EQ(exif_orientation(big), 8);
  for (std::size_t size = 0; size < little.size(); ++size) {
    EXPECT_EQ(exif_orientation(std::string_view(little).substr(0, size)), 1) << size;
  }
  for (std::size_t i = 0; i < big.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string damaged = big;
      damaged[i] = static_cast<char>(value);
      const int orientation = exif_orientation(damaged);
      EXPECT_TRUE(orientation >= 1 && orientation <= 8);
    }
  }
}

TEST(ApplyOrientation, UndoesWhatItsInverseDid) {
  const Image image{2, 3, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}};
  const Image turned = apply_orientation(image, 6);  // a quarter turn clockwise
  EXPECT_EQ(turned.width, 3);
  EXPECT_EQ(turned.pixels[0], 5);
  EXPECT_EQ(apply_orientation(turned, 8), image);
  for (const int own_inverse : {1, 2, 3, 4, 5, 7}) {
    EXPECT_EQ(apply_orientation(apply_orientation(image, own_inverse), own_inverse), image);
  }
}

TEST(DecodeImage, SurvivesCorruptFiles) {
  constexpr std::uint32_t kSeed = 20240611;
  constexpr int kTrials = 150;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 generator(kSeed);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  for (const std::string& original : samples()) {
    for (int trial = 0; trial < kTrials; ++trial) {
      std::string bytes = original;
      const std::uint32_t changes = 1 + random() % 6;
      for (std::uint32_t change = 0; change < changes; ++change) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
            break;
          case 2:
            bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40));
            break;
          default:
            bytes.erase(at, random() % 20);
            break;
        }
        if (bytes.empty()) bytes = "x";
      }
      decode_or_refuse(bytes);
    }
  }
}

}  // namespace
}  // namespace qtool
