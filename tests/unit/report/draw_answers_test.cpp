#include "report/page/draw_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "image/draw.h"

namespace qtool {
namespace {

using testing::ElementsAre;

std::array<int, 3> colour_at(const Image& image, std::int64_t x, std::int64_t y) {
  const std::uint8_t* at = image.pixels.data() + (y * image.width + x) * 3;
  return {at[0], at[1], at[2]};
}

/// Draws on an image of 240 x 120 pixels, which the network sees as 60 x 60. Panels are 480 x 240.
class Drawn : public testing::Test {
 protected:
  Drawn() {
    preprocess_.resize = ResizeMode::kSquash;
    preprocess_.resize_width = preprocess_.resize_height = 60;
  }
  static constexpr std::int64_t kTop = 8 + 24;          // top of a panel in the page
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
  // In the panel, x is 8 times and y is 4 times as large as in the input.
  EXPECT_EQ(colour_at(page, 8 + 120, kTop + 150), green);
  EXPECT_EQ(colour_at(page, 8 + 239, kTop + 150), green);
  EXPECT_EQ(colour_at(page, 8 + 180, kTop + 179), green);
  EXPECT_EQ(colour_at(page, 8 + 180, kTop + 150), blue);
  EXPECT_EQ(colour_at(page, 8 + 119, kTop + 150), blue);
  EXPECT_EQ(colour_at(page, kSecond + 120, kTop + 150), green);
  EXPECT_EQ(colour_at(page, kSecond + 360, kTop + 150), orange);
}

// The number of pixels with a colour in the whole page.
std::int64_t count_pixels(const Image& page, const std::array<int, 3>& colour) {
  std::int64_t found = 0;
  for (std::int64_t y = 0; y < page.height; ++y) {
    for (std::int64_t x = 0; x < page.width; ++x) found += colour_at(page, x, y) == colour ? 1 : 0;
  }
  return found;
}

// Two boxes share a corner, so both captions would be above it.
TEST_F(Drawn, CaptionsDoNotCoverEachOther) {
  result_.detects = true;
  result_.classes = 1;
  result_.int8.emplace();
  const Box best{15, 30, 30, 45, 0, 0.9F};
  const Box other{15, 30, 35, 50, 0, 0.8F};
  const std::array<int, 3> green{60, 210, 110};
  const std::array<int, 3> orange{255, 130, 40};
  const auto drawn = [&](const std::vector<Box>& boxes) {
    result_.int8->answer.boxes = boxes;
    return draw_answers(image_, preprocess_, result_, {});
  };
  result_.box_pairs = {{std::nullopt, 0, 0.0}};
  const std::int64_t alone = count_pixels(drawn({other}), orange);
  result_.fp32.answer.boxes = {best};
  result_.box_pairs = {{0, 0, 1.0}, {std::nullopt, 1, 0.0}};
  const Image page = drawn({best, other});
  // Borders overlap: the left and the upper side of the better box cover those of the other box.
  const std::int64_t border = 2 * (15 * 8 + 15 * 4);
  EXPECT_GE(count_pixels(page, orange), alone - border);
  EXPECT_GT(alone, 2 * border);
  EXPECT_GT(count_pixels(page, green), 0);
  // If boxes at one place leave no room for captions, they are still drawn.
  EXPECT_NO_THROW(static_cast<void>(drawn(std::vector<Box>(2, best))));
}

TEST_F(Drawn, ThumbnailsHaveBothModelsBoxesAndNoCaptions) {
  result_.detects = true;
  result_.classes = 1;
  result_.fp32.answer.boxes = {{15, 30, 30, 45, 0, 0.9F}, {0, 0, 5, 5, 0, 0.9F}};
  result_.int8.emplace();
  result_.int8->answer.boxes = {{15, 30, 30, 45, 0, 0.8F}};
  result_.box_pairs = {{0, 0, 1.0}, {1, std::nullopt, 0.0}};
  const Image page = draw_small(image_, preprocess_, result_, 240);
  EXPECT_EQ(page.width, 2 * 240 + 4);
  EXPECT_EQ(page.height, 120);
  const std::array<int, 3> green{60, 210, 110};
  EXPECT_EQ(colour_at(page, 60, 75), green);  // x is 4 times, y 2 times as in the input
  EXPECT_EQ(colour_at(page, 244 + 60, 75), green);
  EXPECT_EQ(colour_at(page, 0, 0), (std::array<int, 3>{255, 130, 40}));
  EXPECT_EQ(colour_at(page, 60, 50), (std::array<int, 3>{0, 0, 100}));  // where a caption would be
  EXPECT_EQ(boxes_text(result_, 0), "2 boxes, 1 lost");
  EXPECT_EQ(boxes_text(result_, 1), "1 box, 0 added");
}

TEST_F(Drawn, MasksTintAllClassesButTheFirst) {
  result_.fp32.answer.mask = Mask{2, 1, {0, 1}};
  const Image page = draw_answers(image_, preprocess_, result_, {});
  EXPECT_THAT(colour_at(page, 8 + 239, kTop + 100), ElementsAre(0, 0, 100));
  EXPECT_NE(colour_at(page, 8 + 240, kTop + 100), colour_at(page, 8 + 239, kTop + 100));
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
