#include "answers/detector_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSide = 416;
constexpr std::int64_t kCellRows = 52 * 52 + 26 * 26 + 13 * 13;  // cells of strides 8, 16 and 32
constexpr std::int64_t kClasses = 3;

// One output of a network that saw one image.
struct Output {
  PortInfo port;
  Tensor tensor;

  explicit Output(const Shape& shape)
      : port{"out", DType::kFloat32, shape}, tensor(DType::kFloat32, shape) {}

  // Element `channel` of `row`; [1, rows, channels] or, with `first`, [1, channels, rows].
  float& at(std::int64_t row, std::int64_t channel, bool first) {
    const Shape& shape = port.shape;
    const std::int64_t index = first ? channel * shape[2] + row : row * shape[2] + channel;
    return tensor.values<float>()[static_cast<std::size_t>(index)];
  }

  // What is wrong with the detector; empty if nothing is.
  [[nodiscard]] std::string misfit(const Detector& detector) const {
    const std::vector<TensorView> views{tensor};
    const BoxDecoder decoder(detector, {&port, 1}, {1, 3, kSide, kSide}, ChannelAxis::kFirst);
    try {
      require_fit(decoder, views);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch);
      return error.what();
    }
    return "";
  }
};

// What a network with random weights answers: no box has a high score, the centres are those of
// the cells.
class RandomNetwork {
 public:
  // Numbers before the cells are added: YOLOX.
  Output yolox() {
    Output output({1, kCellRows, 5 + kClasses});
    for (std::int64_t row = 0; row < kCellRows; ++row) {
      for (std::int64_t c = 0; c < 4; ++c) output.at(row, c, false) = 0.3F * normal_(random_);
      fill_scores(output, row, false);
    }
    return output;
  }
  // Pixels: YOLOv5 with `first` false and an objectness, YOLOv8 with `first` true.
  Output decoded(bool first) {
    const std::int64_t channels = (first ? 4 : 5) + kClasses;
    Output output(first ? Shape{1, channels, kCellRows} : Shape{1, kCellRows, channels});
    for (std::int64_t row = 0; row < kCellRows; ++row) {
      const auto x = static_cast<float>(row % 52 * 8 + 4);
      const auto y = static_cast<float>(row / 52 % 52 * 8 + 4);
      const std::vector<float> box{x + normal_(random_), y + normal_(random_), 20.0F, 30.0F};
      for (std::int64_t c = 0; c < 4; ++c) {
        output.at(row, c, first) = box[static_cast<std::size_t>(c)];
      }
      fill_scores(output, row, first);
    }
    return output;
  }

 private:
  void fill_scores(Output& output, std::int64_t row, bool first) {
    const std::int64_t channels = output.port.shape[first ? 1 : 2];
    for (std::int64_t c = 4; c < channels; ++c) output.at(row, c, first) = share_(random_);
  }

  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
  std::uniform_real_distribution<float> share_{0.0F, 0.02F};
};

TEST(DetectorFit, ANetworksOwnFamilyFitsWithRandomWeightsToo) {
  RandomNetwork network;
  EXPECT_EQ(network.yolox().misfit(find_detector("yolox")), "");
  EXPECT_EQ(network.decoded(false).misfit(find_detector("yolov5")), "");
  EXPECT_EQ(network.decoded(true).misfit(find_detector("yolov8")), "");
}

TEST(DetectorFit, YoloxIsNotYolov5AlthoughTheShapesAreEqual) {
  const std::string why = RandomNetwork().yolox().misfit(find_detector("yolov5"));
  EXPECT_THAT(why, HasSubstr("detector 'yolov5' does not fit the network: found the centres of 90 "
                             "% of 3549 rows within"));
  EXPECT_THAT(why, HasSubstr("expected them all over the 416x416 pixels"));
}

TEST(DetectorFit, RowsAndColumnsAreToldApart) {
  RandomNetwork network;
  EXPECT_THAT(network.decoded(false).misfit(find_detector("yolov8")), HasSubstr("found scores"));
  EXPECT_THAT(network.decoded(true).misfit(find_detector("yolov5")), HasSubstr("found scores"));
}

TEST(DetectorFit, AClassifierHasNoRows) {
  Output scores({1, 1000});
  EXPECT_THAT(scores.misfit(find_detector("yolov5")), HasSubstr("outputs have 1 row"));
  Output column({1, 1000, 1});
  EXPECT_THAT(column.misfit(find_detector("yolov8")), HasSubstr("outputs have 1 row"));
}

TEST(DetectorFit, LogitsAreNoScores) {
  Output output = RandomNetwork().decoded(true);
  output.at(17, 5, true) = -4.25F;
  EXPECT_THAT(output.misfit(find_detector("yolov8")),
              HasSubstr("found scores from -4.25 to 0.02, expected 0 to 1"));
  Detector detector = find_detector("yolov8");
  detector.class_function = BoxFunction::kSigmoid;
  EXPECT_EQ(output.misfit(detector), "");
  output.at(17, 5, true) = 1.004F;  // half precision
  EXPECT_EQ(output.misfit(find_detector("yolov8")), "");
}

TEST(DetectorFit, DecodedBoxesAreNotDecodedAgain) {
  Output output = RandomNetwork().decoded(false);
  for (std::int64_t row = 0; row < kCellRows; ++row) output.at(row, 2, false) = 200.0F;
  EXPECT_THAT(output.misfit(find_detector("yolox")), HasSubstr("of the rows with corners beyond"));
}

TEST(DetectorFit, FewRowsMayLieOnOneObject) {
  Output output({1, 100, 6});
  for (std::int64_t row = 0; row < 100; ++row) {
    output.at(row, 0, false) = 200.0F;
    output.at(row, 2, false) = output.at(row, 3, false) = 50.0F;
  }
  EXPECT_EQ(output.misfit(find_detector("yolov5")), "");
}

TEST(DetectorFit, NumbersThatAreNotFiniteSayNothing) {
  Output output = RandomNetwork().yolox();
  output.at(5, 1, false) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(output.misfit(find_detector("yolov5")), "");
  output.at(5, 1, false) = 0.0F;
  output.at(5, 6, false) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(output.misfit(find_detector("yolov5")), "");
}

}  // namespace
}  // namespace qtool
