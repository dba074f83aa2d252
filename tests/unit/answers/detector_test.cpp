#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/answers/answer.h"
#include "qtool/base/error.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

using testing::HasSubstr;

std::string detector_message(const std::string& json) {
  try {
    static_cast<void>(detector_from_json(json, "a.json"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(Detector, EveryNamedOneIsValid) {
  for (const DetectorInfo& info : detectors()) {
    const Detector detector = find_detector(info.name);
    EXPECT_EQ(detector.name, info.name);
    EXPECT_NO_THROW(check(detector)) << info.name;
  }
}

TEST(Detector, UnknownNamesListTheNearest) {
  try {
    static_cast<void>(find_detector("yolo"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("yolox"));
  }
}

TEST(Detector, JsonSaysWhatANamedOneDoes) {
  const Detector read = detector_from_json(R"({
    "boxes": {"outputs": [0], "channels": "last", "first": 0, "form": "centre",
              "position": {"function": "none", "unit": "cells"},
              "size": {"function": "exp", "unit": "cells"}},
    "scores": {"first": 5, "objectness": {"channel": 4}},
    "grid": {"levels": [{"stride": 8}, {"stride": 16}, {"stride": 32, "per_cell": 1}]},
    "thresholds": [0.3, 0.5, 0.7], "nms_iou": 0.45})",
                                           "mine.json");
  const Detector named = find_detector("yolox");
  EXPECT_EQ(read.name, "mine.json");
  EXPECT_EQ(read.form, named.form);
  EXPECT_EQ(read.position.unit, named.position.unit);
  EXPECT_EQ(read.size.function, named.size.function);
  EXPECT_EQ(read.size.unit, named.size.unit);
  EXPECT_EQ(read.first_class_channel, named.first_class_channel);
  ASSERT_TRUE(read.objectness);
  EXPECT_EQ(read.objectness->channel, named.objectness->channel);
  EXPECT_EQ(read.objectness->power, named.objectness->power);
  ASSERT_EQ(read.grid.size(), 3U);
  EXPECT_EQ(read.grid[2].stride, 32);
  EXPECT_EQ(read.thresholds, named.thresholds);
  EXPECT_EQ(read.nms_iou, named.nms_iou);
}

TEST(Detector, JsonSaysWhatNetworksWithoutSuppressionDo) {
  const Detector detr = detector_from_json(R"({
    "either_order": true,
    "boxes": {"outputs": [1]},
    "scores": {"first": 0, "background_last": true, "function": "softmax"}})",
                                           "detr.json");
  EXPECT_TRUE(detr.either_order);
  EXPECT_TRUE(detr.background_last);
  EXPECT_TRUE(detr.class_softmax);
  EXPECT_EQ(detr.class_function, BoxFunction::kNone);
  const Detector best = detector_from_json(
      R"({"boxes": {"form": "corners"}, "scores": {"first": 4, "label": 5}})", "best.json");
  EXPECT_EQ(best.label_channel, 5);
  EXPECT_FALSE(best.class_softmax);
}

TEST(Detector, EveryNamedOneHasAUsualPreprocessingOfOptionsAndValues) {
  for (const DetectorInfo& info : detectors()) {
    if (info.preprocessing.empty()) continue;
    const std::vector<std::string> words = split(info.preprocessing, ' ');
    EXPECT_EQ(words.size() % 2, 0U) << info.name;
    ASSERT_EQ(words.front(), "--preprocess") << info.name;
    EXPECT_NO_THROW(static_cast<void>(preprocess_preset(words.at(1)))) << info.name;
  }
}

TEST(Detector, JsonErrorsNameTheField) {
  EXPECT_THAT(detector_message("{}"), HasSubstr("'boxes' is missing"));
  EXPECT_THAT(detector_message(R"({"boxes": {}})"), HasSubstr("'scores' is missing"));
  EXPECT_THAT(detector_message(R"({"boxes": {"fom": "centre"}, "scores": {}})"),
              HasSubstr(R"(.boxes: found the unknown field "fom"; did you mean 'form')"));
  EXPECT_THAT(detector_message(R"({"boxes": {"form": "center"}, "scores": {}})"),
              HasSubstr(".boxes.form: found \"center\", expected centre, corners"));
  EXPECT_THAT(detector_message(R"({"boxes": {"first": -1}, "scores": {}})"),
              HasSubstr(".boxes.first: found -1, expected a whole number from 0"));
  EXPECT_THAT(detector_message(R"({"boxes": {"outputs": []}, "scores": {}})"),
              HasSubstr("outputs of the boxes: found 0, expected 1 to 64"));
  EXPECT_THAT(detector_message(R"({"boxes": {"outputs": [64]}, "scores": {}})"),
              HasSubstr("found 64, expected a whole number from 0 to 63"));
  EXPECT_THAT(detector_message(
                  R"({"boxes": {"form": "corners", "size": {"unit": "share"}}, "scores": {}})"),
              HasSubstr(".boxes.size: found an object, expected no size unless"));
  EXPECT_THAT(detector_message(R"({"boxes": {"position": {"unit": "cells"}}, "scores": {}})"),
              HasSubstr("counted in cells, which need a grid"));
  EXPECT_THAT(detector_message(R"({"boxes": {"form": "distances"}, "scores": {}})"),
              HasSubstr("measured from anchors, which need a grid"));
  EXPECT_THAT(
      detector_message(R"({"boxes": {}, "scores": {}, "grid": {"levels": [{"stride": 0}]}})"),
      HasSubstr("stride: found 0, expected a whole number from 1"));
  EXPECT_THAT(detector_message(R"({"boxes": {}, "scores": {}, "thresholds": []})"),
              HasSubstr("number of thresholds: found 0, expected 1 to 16"));
  EXPECT_THAT(detector_message(R"({"boxes": {}, "scores": {}, "thresholds": [0.5, 0.3]})"),
              HasSubstr("ascending"));
  EXPECT_THAT(detector_message(R"({"boxes": {}, "scores": {}, "nms_iou": 2})"),
              HasSubstr(".nms_iou: found 2, expected a number from 0 to 1"));
  EXPECT_THAT(detector_message("[["), HasSubstr("not JSON"));
  EXPECT_THAT(detector_message(R"({"boxes": {}, "scores": {"label": 5, "count": 3}})"),
              HasSubstr("a channel holds the label"));
  EXPECT_THAT(detector_message(R"({"boxes": {}, "scores": {"function": "softmax",
                                                           "objectness": {"channel": 4}}})"),
              HasSubstr("softmax needs the numbers of all classes"));
  EXPECT_THAT(detector_message(R"({"boxes": {"position": {"function": "softmax"}}, "scores": {}})"),
              HasSubstr("found \"softmax\", expected none, sigmoid"));
  EXPECT_THAT(detector_message(R"({"either_order": true, "boxes": {"outputs": [0, 1]},
                                   "scores": {}})"),
              HasSubstr("only one output of boxes"));
}

}  // namespace
}  // namespace qtool
