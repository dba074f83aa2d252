// Compares with the results of Pillow: those made by image/make_goldens.py, and those on the shared
// photographs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"
#include "support/absent.h"
#include "support/places.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

fs::path golden(const std::string& name) {
  return fs::path(kSourceFolder) / "tests/golden/image" / name;
}

struct Difference {
  double mean = 0.0;
  int most = 0;
};

Difference difference(std::span<const float> found, const Image& expected) {
  Difference result;
  EXPECT_EQ(found.size(), expected.pixels.size());
  if (found.size() != expected.pixels.size()) return {256.0, 256};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int d = std::abs(static_cast<int>(found[i]) - int{expected.pixels[i]});
    result.most = std::max(result.most, d);
    result.mean += d;
  }
  result.mean /= static_cast<double>(found.size());
  return result;
}

Difference difference(const Image& found, const Image& expected) {
  EXPECT_EQ(found.width, expected.width);
  EXPECT_EQ(found.height, expected.height);
  return difference(std::vector<float>(found.pixels.begin(), found.pixels.end()), expected);
}

Preprocess bytes_as_they_are() {
  Preprocess preprocess;
  preprocess.layout = TensorLayout::kNhwc;
  return preprocess;
}

Preprocess squash(std::int64_t width, std::int64_t height) {
  Preprocess preprocess = bytes_as_they_are();
  preprocess.resize = ResizeMode::kSquash;
  preprocess.resize_width = width;
  preprocess.resize_height = height;
  return preprocess;
}

void expect_equal_to_pillow(const Preprocess& preprocess, const Image& input,
                            const std::string& name) {
  const Tensor found = preprocess_image(input, preprocess);
  const Image expected = load_image(golden(name));
  EXPECT_EQ(difference(found.values<float>(), expected).most, 0) << name;
}

TEST(ResizeGolden, EqualsPillowBitForBit) {
  const Image input = load_image(golden("input.png"));
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
      {61, 47}, {30, 30}, {17, 47}, {61, 9}, {100, 80}, {1, 1}, {5, 120}, {224, 3}};
  for (const auto& [width, height] : sizes) {
    expect_equal_to_pillow(squash(width, height), input,
                           to_text("resize_", width, "x", height, ".png"));
  }
}

TEST(ResizeGolden, ShorterSideAndCropEqualTorchvision) {
  Image input = load_image(golden("input.png"));
  Preprocess preprocess = bytes_as_they_are();
  preprocess.resize = ResizeMode::kShorterSide;
  preprocess.resize_shorter = 32;
  preprocess.crop_width = preprocess.crop_height = 32;
  expect_equal_to_pillow(preprocess, input, "shorter_32_32x32.png");
  preprocess.resize_shorter = 40;
  preprocess.crop_width = 33;
  preprocess.crop_height = 27;
  expect_equal_to_pillow(preprocess, input, "shorter_40_33x27.png");
  Image transposed{input.height, input.width, {}};
  for (std::int64_t x = 0; x < input.width; ++x) {
    for (std::int64_t y = 0; y < input.height; ++y) {
      const auto at = static_cast<std::ptrdiff_t>(3 * (y * input.width + x));
      transposed.pixels.insert(transposed.pixels.end(), input.pixels.begin() + at,
                               input.pixels.begin() + at + 3);
    }
  }
  preprocess.resize_shorter = 25;
  preprocess.crop_width = 24;
  preprocess.crop_height = 22;
  expect_equal_to_pillow(preprocess, transposed, "shorter_transposed_25_24x22.png");
}

TEST(ResizeGolden, GrayEqualsPillow) {
  const Image input = load_image(golden("input.png"));
  Preprocess preprocess = squash(20, 31);
  preprocess.channels = ChannelOrder::kGray;
  const Tensor found = preprocess_image(input, preprocess);
  const Image expected = load_image(golden("gray_20x31.png"));
  ASSERT_EQ(static_cast<std::size_t>(found.elements()) * 3, expected.pixels.size());
  for (std::size_t i = 0; i < found.values<float>().size(); ++i) {
    ASSERT_EQ(found.values<float>()[i], static_cast<float>(expected.pixels[3 * i])) << i;
  }
}

TEST(DecodeGolden, TurnsEveryExifOrientationUpright) {
  const Image upright = load_image(golden("upright.png"));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image found = load_image(golden(to_text("turned_", orientation, ".jpg")));
    const Difference d = difference(found, upright);
    EXPECT_LE(d.mean, 1.0) << "orientation " << orientation;
    EXPECT_LE(d.most, 12) << "orientation " << orientation;
  }
}

TEST(DecodeGolden, EqualsPillowForLosslessKinds) {
  for (const std::string name :
       {"gray.png", "gray_alpha.png", "alpha.png", "palette.png", "palette_transparent.png",
        "bits.png", "16bit.png", "rgb.bmp", "gray.bmp", "palette.bmp", "bits.bmp", "alpha.bmp",
        "rgb.ppm", "gray.pgm", "lossy.webp", "lossless.webp", "alpha_lossy.webp",
        "alpha_lossless.webp"}) {
    const Image found = load_image(golden("decode_" + name));
    EXPECT_EQ(found, load_image(golden("decode_" + name + ".expect.png"))) << name;
  }
}

TEST(DecodeGolden, TurnsWebpFilesUpright) {
  const Image upright = load_image(golden("upright.png"));
  for (const int orientation : {1, 6, 7}) {
    EXPECT_EQ(load_image(golden(to_text("turned_", orientation, ".webp"))), upright) << orientation;
  }
}

TEST(DecodeGolden, KeepsAlphaAsPillowDoes) {
  for (const std::string name : {"alpha_lossy", "alpha_lossless"}) {
    const Image expected = load_image(golden(name + ".rgba.png"), Alpha::kKeep);
    EXPECT_EQ(std::ssize(expected.alpha), expected.width * expected.height);
    EXPECT_EQ(load_image(golden("decode_" + name + ".webp"), Alpha::kKeep), expected) << name;
  }
  // The PNG decoder must agree with the WebP decoder.
  EXPECT_EQ(load_image(golden("decode_alpha.png"), Alpha::kKeep),
            load_image(golden("decode_alpha_lossless.webp"), Alpha::kKeep));
}

// Images without alpha are opaque.
TEST(DecodeGolden, GivesOpaqueImagesTheirAlpha) {
  for (const std::string name : {"gray.png", "420.jpg", "rgb.bmp", "lossy.webp", "16bit.png"}) {
    const Image opaque = load_image(golden("decode_" + name), Alpha::kKeep);
    EXPECT_EQ(opaque.pixels, load_image(golden("decode_" + name)).pixels) << name;
    EXPECT_TRUE(std::all_of(opaque.alpha.begin(), opaque.alpha.end(),
                            [](std::uint8_t value) { return value == 255; }));
  }
}

TEST(DecodeGolden, StaysNearPillowForJpegKinds) {
  for (const std::string name : {"gray.jpg", "420.jpg", "422.jpg", "progressive.jpg", "cmyk.jpg"}) {
    const Image found = load_image(golden("decode_" + name));
    const Difference d = difference(found, load_image(golden("decode_" + name + ".expect.png")));
    EXPECT_LE(d.mean, 1.0) << name;
    std::cout << name << ": mean difference " << to_fixed(d.mean, 4) << ", largest " << d.most
              << "\n";
  }
}

TEST(ResizeGolden, SquashedPhotographsEqualPillowWithinOneStep) {
  const fs::path shared = kSharedData;
  if (!fs::exists(shared / "golden/png")) GTEST_SKIP() << absent(shared / "golden/png");
  const ImageSet photos = list_images(shared / "images/photos/calib", {}, 0);
  double sum = 0.0;
  int most = 0;
  const Preprocess preprocess = squash(224, 224);
  for (std::size_t i = 0; i < 20; ++i) {
    const Image photo = load_image(photos.entries.at(10 * i).path);
    const Tensor found = preprocess_image(photo, preprocess);
    const std::string name = to_text(i < 10 ? "0" : "", i, ".png");
    const Image expected = load_image(shared / "golden/png" / name);
    const Difference d = difference(found.values<float>(), expected);
    EXPECT_LE(d.mean, 1.0) << name;
    sum += d.mean;
    most = std::max(most, d.most);
  }
  std::cout << "20 photographs: mean difference " << to_fixed(sum / 20.0, 4) << " of 255, largest "
            << most << "\n";
}

}  // namespace
}  // namespace qtool
