#include "report/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "image/canvas.h"

namespace qtool {
namespace {

using testing::ElementsAre;

std::array<int, 3> pixel(const Image& image, std::int64_t x, std::int64_t y) {
  const std::uint8_t* at = image.pixels.data() + (y * image.width + x) * 3;
  return {at[0], at[1], at[2]};
}

/// Of an image of 240 x 120 pixels, which the network sees as 60 x 60; panels are 480 x 240.
class Drawn : public testing::Test {
 protected:
  Drawn() {
    preprocess_.resize = ResizeMode::kSquash;
    preprocess_.resize_width = preprocess_.resize_height = 60;
  }
  static constexpr std::int64_t kTop = 8 + 24;          // of a panel in the page
  static constexpr std::int64_t kSecond = 8 + 480 + 8;  // left side of the second panel

  Preprocess preprocess_;
  Image image_ = blank_image(240, 120, {0, 0, 100});
  InferResult result_;
};

TEST_F(Drawn, BoxesLieWhereTheyAreInTheImage) {
  result_.detects = true;
  result_.classes = 1;
  result_.fp32.answer.boxes = {{15, 30, 30, 45, 0, 0.9F}};
  result_.int8.emplace();
  result_.int8->answer.boxes = {{15, 30, 30, 45, 0, 0.8F}, {45, 30, 50, 45, 0, 0.8F}};
  result_.box_pairs = {{0, 0, 1.0}, {std::nullopt, 1, 0.0}};
  const Image page = draw_answers(image_, preprocess_, result_, {});
  EXPECT_EQ(page.width, 3 * 8 + 2 * 480);
  EXPECT_EQ(page.height, 2 * 8 + 24 + 240);
  const std::array<int, 3> green{60, 210, 110};
  const std::array<int, 3> orange{255, 130, 40};
  const std::array<int, 3> blue{0, 0, 100};
  // x is 8 times, y 4 times that of the input.
  EXPECT_EQ(pixel(page, 8 + 120, kTop + 150), green);
  EXPECT_EQ(pixel(page, 8 + 239, kTop + 150), green);
  EXPECT_EQ(pixel(page, 8 + 180, kTop + 179), green);
  EXPECT_EQ(pixel(page, 8 + 180, kTop + 150), blue);
  EXPECT_EQ(pixel(page, 8 + 119, kTop + 150), blue);
  EXPECT_EQ(pixel(page, kSecond + 120, kTop + 150), green);
  EXPECT_EQ(pixel(page, kSecond + 360, kTop + 150), orange);
}

TEST_F(Drawn, MasksTintAllClassesButTheFirst) {
  result_.fp32.answer.mask = Mask{2, 1, {0, 1}};
  const Image page = draw_answers(image_, preprocess_, result_, {});
  EXPECT_THAT(pixel(page, 8 + 239, kTop + 100), ElementsAre(0, 0, 100));
  EXPECT_NE(pixel(page, 8 + 240, kTop + 100), pixel(page, 8 + 239, kTop + 100));
}

TEST_F(Drawn, BestClassesStandBelow) {
  result_.classes = 2;
  result_.fp32.top = {{1, 2.0F, 0.7}, {0, 1.0F, 0.3}};
  const std::vector<std::string> names{"a", std::string(500, 'W')};
  const Image page = draw_answers(image_, preprocess_, result_, names);
  EXPECT_EQ(page.height, 2 * 8 + 24 + 240 + 8 + 2 * 24);
  EXPECT_EQ(page.width, 2 * 8 + 480);
}

TEST_F(Drawn, BoxesFarOutsideAreHarmless) {
  result_.detects = true;
  result_.fp32.answer.boxes = {{-1e6F, -1e6F, 1e6F, 1e6F, 0, 0.9F}, {-9e5F, 3, -8e5F, 4, 0, 0.9F}};
  result_.fp32.answer.boxes.push_back({9e5F, 9e5F, 1e6F, 1e6F, 1, 0.5F});
  EXPECT_NO_THROW(static_cast<void>(draw_answers(image_, preprocess_, result_, {})));
}

TEST_F(Drawn, NarrowImagesKeepAPixel) {
  const Image page = draw_answers(blank_image(1, 30000, {1, 2, 3}), preprocess_, result_, {});
  EXPECT_EQ(page.height, 2 * 8 + 24 + 960);
}

}  // namespace
}  // namespace qtool
