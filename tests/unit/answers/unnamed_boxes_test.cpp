#include "answers/unnamed_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace qtool {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What is said of outputs of these shapes, for an image of 320x320 pixels.
std::string text_for(const std::vector<Shape>& shapes) {
  std::vector<PortInfo> ports;
  for (const Shape& shape : shapes) ports.push_back({"output", DType::kFloat32, shape});
  return unnamed_boxes(ports, 320, 320);
}

TEST(UnnamedBoxes, HeadsForEachStrideMayBeInAnyOrder) {
  const Shape classes8{1, 80, 40, 40};
  const Shape boxes8{1, 32, 40, 40};
  const Shape classes16{1, 80, 20, 20};
  const Shape boxes16{1, 32, 20, 20};
  for (const std::vector<Shape>& shapes : {std::vector{classes8, boxes8, classes16, boxes16},
                                           std::vector{classes8, classes16, boxes8, boxes16}}) {
    EXPECT_THAT(text_for(shapes), AllOf(HasSubstr("are maps of strides 8, 16, which may be"),
                                        HasSubstr("what is missing are boxes")));
  }
}

TEST(UnnamedBoxes, LastMapOfSsdHasOneCell) {
  EXPECT_THAT(text_for({{1, 84, 20, 20},
                        {1, 16, 20, 20},
                        {1, 126, 10, 10},
                        {1, 24, 10, 10},
                        {1, 84, 1, 1},
                        {1, 16, 1, 1}}),
              HasSubstr("are maps of strides 16, 32, which may be"));
}

TEST(UnnamedBoxes, MapsOfFeaturesAreNone) {
  EXPECT_EQ(text_for({{1, 24, 40, 40}, {1, 96, 20, 20}, {1, 320, 10, 10}}), "");
  EXPECT_EQ(text_for({{1, 256, 40, 40}, {1, 256, 20, 20}}), "");
  EXPECT_EQ(text_for({{1, 255, 40, 40}}), "");
  EXPECT_EQ(text_for({{1, 21, 40, 40}, {1, 84, 40, 40}}), "");
  EXPECT_EQ(text_for({{1, 21, 320, 320}, {1, 21, 40, 40}}), "");
}

TEST(UnnamedBoxes, BoxesBesideAsManyRows) {
  const auto has_boxes =
      AllOf(HasSubstr("may hold 2100 boxes and their scores"),
            HasSubstr("what is missing is a description"), HasSubstr("--boxes FILE.json"));
  EXPECT_THAT(text_for({{1, 2100, 4}, {1, 2100, 2}, {1, 2100, 10}}), has_boxes);  // RetinaFace
  EXPECT_THAT(text_for({{1, 2100, 4}, {1, 80, 2100}}), has_boxes);                // PP-YOLOE
  EXPECT_THAT(text_for({{1, 2100}, {1, 2100, 4}}), has_boxes);
  EXPECT_EQ(text_for({{1, 2100, 4}, {1, 80, 2000}}), "");
  EXPECT_EQ(text_for({{1, 2100, 4}}), "");
  EXPECT_EQ(text_for({{1, 8, 4}, {1, 8, 2}}), "");
}

TEST(UnnamedBoxes, RowsOfQueries) {
  EXPECT_THAT(text_for({{1, 300, 84}}),  // RT-DETR
              HasSubstr("[1, 300, 84] may hold the four numbers of a box and 80 scores for each "
                        "of 300 queries"));
  EXPECT_EQ(text_for({{1, 197, 768}}), "");
  EXPECT_EQ(text_for({{1, 80, 97}}), "");
  EXPECT_EQ(text_for({{1, 300}}), "");
  const std::vector<PortInfo> steps{{"steps", DType::kFloat32, {1, 100, 97}}};
  EXPECT_EQ(unnamed_boxes(steps, 400, 48), "");  // of a text
}

}  // namespace
}  // namespace qtool
