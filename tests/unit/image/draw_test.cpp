#include "image/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "image/stb_encode.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

constexpr Colour kBlack = {0, 0, 0};
constexpr Colour kRed = {255, 0, 0};

/// One letter per pixel: `#` where it is red, `.` elsewhere.
std::string picture(const Image& image) {
  std::string text;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      text += image.pixels[static_cast<std::size_t>((y * image.width + x) * 3)] == 255 ? '#' : '.';
    }
    text += '\n';
  }
  return text;
}

TEST(Canvas, DrawsTheBorderInsideOfTheRectangle) {
  Image image = blank_image(6, 5, kBlack);
  outline(image, 1, 0, 5, 4, 1, kRed);
  EXPECT_EQ(picture(image),
            ".####.\n"
            ".#..#.\n"
            ".#..#.\n"
            ".####.\n"
            "......\n");
}

TEST(Canvas, LeavesOutWhatLiesOutside) {
  Image image = blank_image(3, 2, kBlack);
  outline(image, -1'000'000, 1, 1'000'000, 1'000'000, 2, kRed);
  EXPECT_EQ(picture(image), "...\n###\n");
  fill(image, 2, 2, 1, 1, kRed);  // an empty rectangle
  paste(image, 5, 5, image);
  paste(image, -3, -2, image);
  EXPECT_EQ(picture(image), "...\n###\n");
  paste(image, 2, -1, blank_image(2, 2, kRed));
  EXPECT_EQ(picture(image), "..#\n###\n");
}

TEST(Canvas, MixesColours) {
  Image image = blank_image(1, 1, {100, 0, 255});
  fill(image, 0, 0, 1, 1, {200, 255, 255}, 128);
  EXPECT_THAT(image.pixels, testing::ElementsAre(150, 128, 255));
}

TEST(Canvas, WritesAnyBytes) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  all += "\xc3\xa4" + std::string(1000, '\n');
  Image image = blank_image(2000, 20, kBlack);
  draw_text(image, 0, 0, all, 1, kRed);
  EXPECT_GT(std::ranges::count(picture(image), '#'), 500);
  EXPECT_LT(text_width(all, 1), 2000);
  EXPECT_EQ(text_width("ab\xc3\xa4", 2), 2 * text_width("ab?", 1));
  draw_text(image, -50, -5, "begins outside", 3, kRed);
}

TEST(Canvas, WritesAStrokeWithinItsWidth) {
  Image image = blank_image(40, 24, kBlack);
  draw_text(image, 0, 0, "I", 2, kRed);
  const std::string text = picture(image);
  EXPECT_THAT(text, testing::HasSubstr("##"));
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = text_width("I", 2); x < image.width; ++x) {
      EXPECT_EQ(text[static_cast<std::size_t>(y * 41 + x)], '.');
    }
  }
}

// Our decoder reads the PNG that stb_image_write wrote.
TEST(EncodePng, IsReadBack) {
  Image image = blank_image(37, 11, kBlack);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i * i % 251);
  }
  EXPECT_EQ(decode_image(encode_png(image), "a.png"), image);
  image.pixels.pop_back();
  EXPECT_THROW(static_cast<void>(encode_png(image)), Error);
  EXPECT_THROW(static_cast<void>(encode_png(Image())), Error);
}

TEST(EncodeJpeg, IsReadBackAlmostAsItWas) {
  Image image = blank_image(40, 24, kBlack);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i / 16);  // JPEG keeps gradients well
  }
  const Image back = decode_image(encode_jpeg(image), "a.jpg");
  ASSERT_EQ(back.width, image.width);
  ASSERT_EQ(back.height, image.height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_NEAR(back.pixels[i], image.pixels[i], 24) << i;
  }
  image.pixels.pop_back();
  EXPECT_THROW(static_cast<void>(encode_jpeg(image)), Error);
}

// A painted spot of the image is found in the preprocessed input where the placement says.
TEST(PlacementOf, AgreesWithThePixelsOfTheInput) {
  const std::int64_t width = 120;
  const std::int64_t height = 80;
  Image image = blank_image(width, height, kBlack);
  fill(image, 60, 20, 70, 30, {255, 255, 255});  // its centre is (65, 25)
  std::vector<Preprocess> ways(4);
  ways[1].resize = ResizeMode::kSquash;
  ways[1].resize_width = 100;
  ways[1].resize_height = 200;
  ways[2].resize = ResizeMode::kLetterbox;
  ways[2].resize_width = 90;
  ways[2].resize_height = 150;
  ways[2].fill = 0;
  ways[3].resize = ResizeMode::kShorterSide;
  ways[3].resize_shorter = 160;
  ways[3].crop_width = 150;
  ways[3].crop_height = 140;
  for (const Preprocess& way : ways) {
    const InputPlacement placement = placement_of(way, width, height);
    const Tensor input = preprocess_image(image, way);
    EXPECT_EQ(input.shape()[2], placement.input_height);
    EXPECT_EQ(input.shape()[3], placement.input_width);
    double weight = 0.0;
    double x_sum = 0.0;
    double y_sum = 0.0;
    for (std::int64_t y = 0; y < placement.input_height; ++y) {
      for (std::int64_t x = 0; x < placement.input_width; ++x) {
        const double value =
            input.values<float>()[static_cast<std::size_t>(y * placement.input_width + x)];
        weight += value;
        x_sum += value * (static_cast<double>(x) + 0.5);
        y_sum += value * (static_cast<double>(y) + 0.5);
      }
    }
    const auto back = [&](double sum, std::int64_t offset, double scale) {
      return (sum / weight + static_cast<double>(offset)) * scale;
    };
    EXPECT_NEAR(back(x_sum, placement.x_offset, placement.x_scale), 65.0, 0.1);
    EXPECT_NEAR(back(y_sum, placement.y_offset, placement.y_scale), 25.0, 0.1);
  }
}

}  // namespace
}  // namespace qtool
