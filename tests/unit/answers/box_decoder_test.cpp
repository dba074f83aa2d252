#include "answers/box_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "answers/suppress_boxes.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

PortInfo float_port(std::string name, Shape shape) {
  return {std::move(name), DType::kFloat32, std::move(shape)};
}

/// Outputs of a detector with these shapes. Elements that set() does not set are 0.
class DetectorOutputs {
 public:
  explicit DetectorOutputs(std::vector<Shape> shapes) {
    for (const Shape& shape : shapes) {
      ports.push_back(float_port(to_text("output", ports.size()), shape));
      tensors.emplace_back(DType::kFloat32, shape);
    }
  }
  void set(std::size_t output, std::int64_t at, std::initializer_list<float> values,
           std::int64_t step = 1) {
    for (const float value : values) {
      tensors[output].values<float>()[static_cast<std::size_t>(at)] = value;
      at += step;
    }
  }
  [[nodiscard]] std::vector<Box> read(const Detector& detector, const Shape& input,
                                      std::int64_t slot = 0,
                                      ChannelAxis axis = ChannelAxis::kFirst) const {
    const std::vector<TensorView> views(tensors.begin(), tensors.end());
    return BoxDecoder(detector, ports, input, axis).read(views, slot);
  }
  [[nodiscard]] std::string error(const Detector& detector, const Shape& input) const {
    try {
      static_cast<void>(read(detector, input));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch);
      return error.what();
    }
    return "";
  }

  std::vector<PortInfo> ports;
  std::vector<Tensor> tensors;
};

void expect_box(const Box& box, float left, float top, float right, float bottom,
                std::int64_t label, float score) {
  EXPECT_NEAR(box.left, left, 1e-3F);
  EXPECT_NEAR(box.top, top, 1e-3F);
  EXPECT_NEAR(box.right, right, 1e-3F);
  EXPECT_NEAR(box.bottom, bottom, 1e-3F);
  EXPECT_EQ(box.label, label);
  EXPECT_NEAR(box.score, score, 1e-6F);
}

// 64 x 32 pixels give 8 x 4 cells of stride 8 (rows 0 to 31), 4 x 2 cells of stride 16 (rows 32 to
// 39) and 2 x 1 cells of stride 32 (rows 40 to 41).
TEST(BoxDecoder, DecodesYolox) {
  DetectorOutputs outputs({{1, 42, 7}});
  // Row 34 is the cell (2, 0) of stride 16: centre (2.5, 0.25) * 16, size (2, 1) * 16.
  outputs.set(0, 34 * 7, {0.5F, 0.25F, std::log(2.0F), 0.0F, 0.5F, 0.2F, 0.8F});
  // Row 41 is the cell (1, 0) of stride 32.
  outputs.set(0, 41 * 7, {0.0F, 0.5F, 0.0F, std::log(0.5F), 1.0F, 0.9F, 0.1F});
  const std::vector<Box> boxes = outputs.read(find_detector("yolox"), {1, 3, 32, 64});
  ASSERT_EQ(boxes.size(), 2U);
  expect_box(boxes[0], 16, 8, 48, 24, 0, 0.9F);
  expect_box(boxes[1], 24, -4, 56, 12, 1, 0.4F);
}

TEST(BoxDecoder, DecodesColumnsOfYolov8InTheSecondImageOfABatch) {
  DetectorOutputs outputs({{2, 6, 3}});
  outputs.set(0, 18 + 1, {30, 20, 10, 8, 0.1F, 0.6F}, 3);
  const std::vector<Box> boxes = outputs.read(find_detector("yolov8"), {2, 3, 640, 640}, 1);
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 25, 16, 35, 24, 1, 0.6F);
}

TEST(BoxDecoder, DecodesRowsOfYolov5) {
  DetectorOutputs outputs({{1, 3, 7}});
  outputs.set(0, 7, {30, 20, 10, 8, 0.5F, 0.1F, 0.9F});
  const std::vector<Box> boxes = outputs.read(find_detector("yolov5"), {1, 3, 640, 640});
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 25, 16, 35, 24, 1, 0.45F);
}

TEST(BoxDecoder, DecodesScoresAndCornersOfSsdWithoutTheBackground) {
  DetectorOutputs outputs({{1, 2, 3}, {1, 2, 4}});
  outputs.set(0, 3, {0.1F, 0.2F, 0.7F});
  outputs.set(1, 4, {0.25F, 0.5F, 0.5F, 0.75F});
  const std::vector<Box> boxes = outputs.read(find_detector("ssd"), {1, 3, 240, 320});
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 80, 120, 160, 180, 1, 0.7F);
}

// Row 1 of [1, 7, 2, 4] is the cell (1, 0). The stride is 16.
TEST(BoxDecoder, DecodesTheMapOfFastestdet) {
  DetectorOutputs outputs({{1, 7, 2, 4}});
  outputs.set(0, 1, {0.81F, std::atanh(0.5F), std::atanh(0.25F), 0.0F, std::log(3.0F), 0.4F, 0.3F},
              8);
  const std::vector<Box> boxes = outputs.read(find_detector("fastestdet"), {1, 3, 32, 64});
  ASSERT_EQ(boxes.size(), 1U);
  // Centre (1.5, 0.25) * 16, width 0.5 * 64, height 0.75 * 32.
  expect_box(boxes[0], 8, -8, 40, 16, 0, std::pow(0.81F, 0.6F) * std::pow(0.4F, 0.4F));
}

TEST(BoxDecoder, DecodesTheTwoGridsOfBlazeface) {
  DetectorOutputs outputs({{1, 512, 1}, {1, 384, 1}, {1, 512, 16}, {1, 384, 16}});
  for (float& score : outputs.tensors[0].values<float>()) score = -100.0F;
  for (float& score : outputs.tensors[1].values<float>()) score = -100.0F;
  // Row 6 * (8 * 2 + 3) + 5 of the second grid is the cell (3, 2): anchor (3.5, 2.5) * 32.
  outputs.set(1, 119, {std::log(4.0F)});
  outputs.set(3, 119 * 16, {8, -20, 64, 32});
  const std::vector<Box> boxes =
      outputs.read(find_detector("blazeface"), {1, 256, 256, 3}, 0, ChannelAxis::kLast);
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 88, 44, 152, 76, 0, 0.8F);
}

TEST(BoxDecoder, DecodesDistancesAndCornersThatBeginWithY) {
  Detector detector;
  detector.name = "mine";
  detector.first_class_channel = 4;
  detector.form = BoxForm::kDistances;
  detector.position.unit = BoxUnit::kCells;
  detector.grid = {{16, 1}};
  detector.grid_offset = 0.5;
  DetectorOutputs outputs({{1, 4, 5}});
  outputs.set(0, 15, {1, 0.5F, 0.25F, 2, 0.75F});  // cell (1, 1): anchor (24, 24)
  expect_box(outputs.read(detector, {1, 3, 32, 32}).at(0), 8, 16, 28, 56, 0, 0.75F);
  detector.form = BoxForm::kCornersYx;
  detector.position.unit = BoxUnit::kShare;
  detector.grid.clear();
  outputs.set(0, 15, {0.25F, 0.5F, 0.5F, 1});
  expect_box(outputs.read(detector, {1, 3, 32, 64}).at(0), 32, 8, 64, 16, 0, 0.75F);
}

TEST(BoxDecoder, TakesTheBoxesOfAPairFromTheOutputWithFourChannels) {
  DetectorOutputs outputs({{1, 2, 4}, {1, 2, 3}});
  outputs.set(0, 4, {0.25F, 0.5F, 0.5F, 0.75F});
  outputs.set(1, 3, {0.1F, 0.2F, 0.7F});
  const std::vector<Box> boxes = outputs.read(find_detector("ssd"), {1, 3, 240, 320});
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 80, 120, 160, 180, 1, 0.7F);
}

TEST(BoxDecoder, SoftmaxOfDetrLeavesOutTheLastClass) {
  DetectorOutputs outputs({{1, 2, 3}, {1, 2, 4}});
  // Row 0 is no object; row 1 is class 1 with 6 of 8 parts.
  outputs.set(0, 0, {0.0F, 0.0F, 5.0F, 0.0F, std::log(6.0F), 0.0F});
  outputs.set(1, 0, {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.25F, 0.2F, 0.1F});
  const std::vector<Box> boxes = outputs.read(find_detector("detr"), {1, 3, 200, 100});
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 40, 40, 60, 60, 1, 0.75F);
  // Numbers beyond the range of exp() give no score, and no infinity.
  outputs.set(0, 3, {-3e38F, 3e38F, 3e38F});
  EXPECT_EQ(outputs.read(find_detector("detr"), {1, 3, 200, 100}).at(0).score, 0.5F);
}

TEST(BoxDecoder, SoftmaxOfSsdCountsItsBackground) {
  DetectorOutputs outputs({{1, 2, 3}, {1, 2, 4}});
  outputs.set(0, 3, {0.0F, std::log(6.0F), 0.0F});
  outputs.set(1, 4, {0.25F, 0.5F, 0.5F, 0.75F});
  const std::vector<Box> boxes = outputs.read(find_detector("ssd_logits"), {1, 3, 240, 320});
  ASSERT_EQ(boxes.size(), 1U);
  expect_box(boxes[0], 80, 120, 160, 180, 0, 0.75F);
}

TEST(BoxDecoder, Yolo26HoldsItsClassesAsNumbers) {
  DetectorOutputs outputs({{1, 4, 6}});
  outputs.set(0, 0, {10, 20, 30, 40, 0.9F, 17, 10, 20, 30, 40, 0.8F, 17});  // not suppressed
  outputs.set(0, 12, {10, 20, 30, 40, 0.7F, -1, 10, 20, 30, 40, 0.6F, std::nanf("")});
  const Shape input{1, 3, 640, 640};
  const std::vector<Box> boxes = outputs.read(find_detector("yolo26"), input);
  ASSERT_EQ(boxes.size(), 2U);
  expect_box(boxes[0], 10, 20, 30, 40, 17, 0.9F);
  expect_box(boxes[1], 10, 20, 30, 40, 17, 0.8F);
  const BoxDecoder decoder(find_detector("yolo26"), outputs.ports, input, ChannelAxis::kFirst);
  EXPECT_EQ(decoder.classes(), 0);  // not known
}

TEST(BoxDecoder, ReadsLowerScoresForAnnotations) {
  DetectorOutputs outputs({{1, 2, 6}});
  outputs.set(0, 0, {10, 20, 30, 40, 0.002F, 17, 10, 20, 30, 40, 0.0005F, 17});
  const std::vector<TensorView> views(outputs.tensors.begin(), outputs.tensors.end());
  const Shape input{1, 3, 640, 640};
  EXPECT_THAT(outputs.read(find_detector("yolo26"), input), IsEmpty());
  const BoxDecoder decoder(find_detector("yolo26"), outputs.ports, input, ChannelAxis::kFirst,
                           kAnnotatedScore);
  EXPECT_EQ(decoder.read(views).size(), 1U);
}

TEST(BoxDecoder, OutputsAreTakenByNameToo) {
  Detector detector = find_detector("ssd");
  detector.boxes.outputs = {std::string("output0")};
  detector.scores.outputs = {std::string("output1")};
  DetectorOutputs outputs({{1, 2, 4}, {1, 2, 2}});
  outputs.set(0, 0, {0, 0, 0.5F, 1});
  outputs.set(1, 0, {0.2F, 0.8F});
  expect_box(outputs.read(detector, {1, 3, 100, 100}).at(0), 0, 0, 50, 100, 0, 0.8F);
}

TEST(BoxDecoder, OutputsThatDoNotFitAreRefused) {
  const Shape input{1, 3, 32, 64};
  const auto error = [&](const char* name, std::vector<Shape> shapes) {
    return DetectorOutputs(std::move(shapes)).error(find_detector(name), input);
  };
  EXPECT_THAT(error("yolox", {{1, 41, 7}}),
              HasSubstr("hold 41 boxes, expected 42: those of strides 8, 16, 32 and an input of "
                        "64x32 pixels"));
  EXPECT_THAT(error("yolox", {{1, 42, 5}}),
              HasSubstr("output 'output0' (scores) of shape [1, 42, 5] has 5 channels, expected at "
                        "least 6"));
  EXPECT_THAT(error("yolox", {{1, 42, 3}}), HasSubstr("has 3 channels, expected at least 4"));
  EXPECT_THAT(error("yolox", {{42}}),
              HasSubstr("has shape [42], expected [batch, rows, channels]"));
  EXPECT_THAT(error("yolox", {{2, 42, 7}}), HasSubstr("expected [batch, rows, channels]"));
  EXPECT_THAT(error("yolov8", {{1, 0, 7}}), HasSubstr("expected [batch, channels, rows]"));
  EXPECT_THAT(error("ssd", {{1, 2, 3}}), HasSubstr("reads output 1 (from 0), the network has 1"));
  EXPECT_THAT(error("ssd", {{1, 2, 3}, {1, 3, 4}}), HasSubstr("hold 3 boxes and 2 scores"));
  EXPECT_THAT(DetectorOutputs({{1, 2, 7}}).error(find_detector("yolov5"), {1, 7}),
              HasSubstr("input has shape [1, 7], expected an image"));
  Detector named = find_detector("ssd");
  named.scores.outputs = {std::string("scorse")};
  DetectorOutputs outputs({{1, 2, 3}, {1, 2, 4}});
  outputs.ports[0].name = "scores";
  EXPECT_THAT(outputs.error(named, input), HasSubstr("no output 'scorse'; did you mean 'scores'"));
  Detector uneven = find_detector("ssd");
  uneven.either_order = false;
  uneven.scores.outputs = {std::int64_t{0}, std::int64_t{2}};
  EXPECT_THAT(DetectorOutputs({{1, 2, 3}, {1, 4, 4}, {1, 2, 2}}).error(uneven, input),
              HasSubstr("have 3 and 2 channels"));
}

TEST(BoxDecoder, NumbersThatAreNoneMakeNoBox) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  const Detector detector = find_detector("yolov5");
  for (const std::vector<float>& row : std::vector<std::vector<float>>{{nan, 20, 10, 8, 1, 1},
                                                                       {kInf, 20, 10, 8, 1, 1},
                                                                       {30, -kInf, 10, 8, 1, 1},
                                                                       {30, 20, 3e38F, 8, 1, 1},
                                                                       {30, 20, 10, 0, 1, 1},
                                                                       {30, 20, -10, 8, 1, 1},
                                                                       {30, 20, 10, 8, nan, 1},
                                                                       {30, 20, 10, 8, 1, nan},
                                                                       {30, 20, 10, 8, kInf, 1},
                                                                       {30, 20, 10, 8, -kInf, -1},
                                                                       {30, 20, 10, 8, 0, kInf}}) {
    DetectorOutputs outputs({{1, 1, 6}});
    std::copy(row.begin(), row.end(), outputs.tensors[0].values<float>().begin());
    EXPECT_THAT(outputs.read(detector, {1, 3, 64, 64}), IsEmpty());
  }
  // exp() overflows to infinity. A score that is NaN loses against a number.
  DetectorOutputs outputs({{1, 42, 7}});
  outputs.set(0, 0, {0, 0, 1000, 0, 1, 1, 0});
  EXPECT_THAT(outputs.read(find_detector("yolox"), {1, 3, 32, 64}), IsEmpty());
  outputs.set(0, 0, {0, 0, 0, 0, 1, nan, 0.5F});
  expect_box(outputs.read(find_detector("yolox"), {1, 3, 32, 64}).at(0), -4, -4, 4, 4, 1, 0.5F);
}

TEST(BoxDecoder, EqualScoresKeepTheOrderOfTheRows) {
  DetectorOutputs outputs({{1, 40, 6}});
  for (std::int64_t row = 0; row < 40; ++row) {
    outputs.set(0, row * 6, {static_cast<float>(20 * row), 0, 10, 10, 1, 0.5F});
  }
  const std::vector<Box> boxes = outputs.read(find_detector("yolov5"), {1, 3, 64, 1000});
  ASSERT_EQ(boxes.size(), 40U);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_EQ(boxes[i].left, 20.0F * static_cast<float>(i) - 5.0F);
  }
}

// Only the best 4,096 rows are considered, and at most 300 boxes are kept.
TEST(BoxDecoder, ManyBoxesAreBounded) {
  constexpr std::int64_t kRows = 50'000;
  DetectorOutputs outputs({{1, kRows, 6}});
  for (std::int64_t row = 0; row < kRows; ++row) {
    // The boxes of the first 45,000 rows cover each other, and the last rows have the best scores.
    const auto x = static_cast<float>(row < 45'000 ? 0 : 20 * (row - 45'000));
    outputs.set(0, row * 6, {x, 0, 10, 10, 1, 0.5F + 1e-6F * static_cast<float>(row)});
  }
  const std::vector<Box> boxes = outputs.read(find_detector("yolov5"), {1, 3, 64, 1000});
  ASSERT_EQ(std::ssize(boxes), kMaxBoxes);
  EXPECT_EQ(boxes.front().left, 20.0F * 4999.0F - 5.0F);
  EXPECT_EQ(boxes.back().left, 20.0F * 4700.0F - 5.0F);
}

TEST(BoxDecoder, AnyDetectorOnAnyOutputIsAnsweredOrRefused) {
  std::mt19937 random(20261123);
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(end));
  };
  std::int64_t answered = 0;
  std::int64_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Detector detector;
    detector.name = "random";
    detector.form = static_cast<BoxForm>(below(4));
    detector.position = {static_cast<BoxFunction>(below(4)), static_cast<BoxUnit>(below(3))};
    detector.size = {static_cast<BoxFunction>(below(4)), static_cast<BoxUnit>(below(3))};
    for (AnchorRows* rows : {&detector.boxes, &detector.scores}) {
      rows->axis = static_cast<ChannelAxis>(below(2));
      rows->outputs.clear();
      const bool one = below(4) > 0;
      for (std::int64_t i = one ? 0 : below(3); i >= 0; --i) rows->outputs.emplace_back(below(3));
    }
    detector.first_box_channel = below(4);
    detector.first_class_channel = below(4);
    if (below(2) == 0) detector.class_count = below(4);
    detector.class_function = static_cast<BoxFunction>(below(4));
    if (below(2) == 0) detector.objectness = {below(6), static_cast<BoxFunction>(below(4)), 0.5};
    if (below(3) == 0) detector.grid.push_back({8 << below(3), 1 + below(2)});
    std::vector<Shape> shapes;
    const std::int64_t side = 4 + below(5);
    for (std::int64_t i = 0; i < 3; ++i) {
      std::vector<std::int64_t> dims{1};
      if (below(5) > 0) {
        shapes.push_back({1, side, side});
        continue;
      }
      for (std::int64_t axis = below(4); axis > 0; --axis) dims.push_back(below(9));
      shapes.emplace_back(dims);
    }
    DetectorOutputs outputs(shapes);
    for (Tensor& tensor : outputs.tensors) {
      for (float& value : tensor.values<float>()) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(&value, &bits, sizeof value);
        if (below(2) == 0) value = static_cast<float>(below(100)) / 50.0F;
      }
    }
    try {
      for (const Box& box : outputs.read(detector, {1, 3, 16, 16})) {
        EXPECT_LT(box.left, box.right);
        EXPECT_LT(box.top, box.bottom);
        EXPECT_TRUE(std::isfinite(box.score));
      }
      ++answered;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(answered, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace qtool
