#include "answers/detector_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"

namespace qtool {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kInputSide = 64;
constexpr std::int64_t kHeadRows = 8 * 8 + 4 * 4 + 2 * 2;  // cells of strides 8, 16 and 32

using Fill = std::function<float(std::int64_t row, std::int64_t channel)>;

// The outputs of a network for one image of 64x64 pixels.
class HeadOutputs {
 public:
  HeadOutputs() = default;
  // For an image of another size.
  HeadOutputs(std::int64_t height, std::int64_t width) : input_{1, 3, height, width} {}

  // [1, rows, channels]
  HeadOutputs& rows(std::int64_t rows, std::int64_t channels, const Fill& fill) {
    Tensor& tensor = add({1, rows, channels});
    for (std::int64_t i = 0; i < rows * channels; ++i) {
      tensor.values<float>()[static_cast<std::size_t>(i)] = fill(i / channels, i % channels);
    }
    return *this;
  }
  // [1, channels, rows]
  HeadOutputs& columns(std::int64_t rows, std::int64_t channels, const Fill& fill) {
    fill_columns(add({1, channels, rows}), rows, channels, fill);
    return *this;
  }
  // [1, channels, side, side]
  HeadOutputs& map(std::int64_t side, std::int64_t channels, const Fill& fill) {
    fill_columns(add({1, channels, side, side}), side * side, channels, fill);
    return *this;
  }

  [[nodiscard]] RecognisedDetector search(int images = 1) const {
    DetectorSearch search(ports_, input_, ChannelAxis::kFirst);
    std::vector<TensorView> views;
    for (const std::shared_ptr<Tensor>& tensor : tensors_) views.emplace_back(*tensor);
    for (int i = 0; i < images; ++i) search.add(views);
    return search.result();
  }
  // The name of the detector; empty without one.
  [[nodiscard]] std::string name() const {
    const RecognisedDetector found = search();
    return found.detector ? found.detector->name : "";
  }
  [[nodiscard]] bool has_candidates() const {
    return DetectorSearch(ports_, input_, ChannelAxis::kFirst).has_candidates();
  }

 private:
  Tensor& add(const Shape& shape) {
    ports_.push_back({to_text("output", ports_.size()), DType::kFloat32, shape});
    return *tensors_.emplace_back(std::make_shared<Tensor>(DType::kFloat32, shape));
  }
  static void fill_columns(Tensor& tensor, std::int64_t rows, std::int64_t channels,
                           const Fill& fill) {
    for (std::int64_t i = 0; i < rows * channels; ++i) {
      tensor.values<float>()[static_cast<std::size_t>(i)] = fill(i % rows, i / rows);
    }
  }

  Shape input_{1, 3, kInputSide, kInputSide};
  std::vector<PortInfo> ports_;
  std::vector<std::shared_ptr<Tensor>> tensors_;
};

struct Centre {
  float x = 0.0F;
  float y = 0.0F;
  float stride = 8.0F;
};

// The centre of the cell to which a row belongs.
Centre centre_of(std::int64_t row) {
  std::int64_t stride = 8;
  while (row >= (kInputSide / stride) * (kInputSide / stride)) {
    row -= (kInputSide / stride) * (kInputSide / stride);
    stride *= 2;
  }
  const std::int64_t side = kInputSide / stride;
  const auto step = static_cast<float>(stride);
  return {(static_cast<float>(row % side) + 0.5F) * step,
          (static_cast<float>(row / side) + 0.5F) * step, step};
}

float share_of(std::int64_t row, std::int64_t channel) {
  return 0.02F * static_cast<float>((row * 7 + channel * 13) % 10);
}

// Numbers of YOLOX: small offsets and logarithms, then probabilities.
float undecoded(std::int64_t row, std::int64_t channel) {
  return channel < 4 ? 0.3F * std::sin(static_cast<float>(row * 5 + channel))
                     : share_of(row, channel);
}

// Centre and size in pixels, then probabilities.
float decoded(std::int64_t row, std::int64_t channel) {
  const Centre centre = centre_of(row);
  if (channel >= 4) return share_of(row, channel);
  return channel == 0 ? centre.x : channel == 1 ? centre.y : centre.stride;
}

TEST(DetectorSearch, TellsYoloxFromYolov5ByTheNumbers) {
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 8, undecoded).name(), "yolox");
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 8, decoded).name(), "yolov5");
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 6, undecoded).name(), "yolox");  // persons only
}

TEST(DetectorSearch, CountsTheImages) {
  const RecognisedDetector found = HeadOutputs().rows(kHeadRows, 8, undecoded).search(3);
  EXPECT_EQ(found.images, 3);
  EXPECT_EQ(found.doubt, "");
}

// Rows of YOLOv8 in an export that transposes its columns. The first class is no objectness.
TEST(DetectorSearch, TakesNoTransposedYolov8ForYolov5) {
  const Fill fill = [](std::int64_t row, std::int64_t channel) {
    if (channel < 4) return decoded(row % kHeadRows, channel);
    return row % 10 == channel ? 0.9F : 0.01F;  // at most one class for each row
  };
  EXPECT_EQ(HeadOutputs().columns(kHeadRows, 9, fill).name(), "yolov8");
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 9, fill).name(), "");
  const RecognisedDetector found = HeadOutputs(128, 128).rows(21 * 16, 9, fill).search();
  EXPECT_FALSE(found.detector);
  EXPECT_THAT(found.doubt, HasSubstr("yolov5: found "));
  EXPECT_THAT(found.doubt, HasSubstr("objects without a class, expected none"));
  // 80 classes of COCO, and no object of the first.
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 84, decoded).name(), "");
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 85, decoded).name(), "yolov5");
  // Objects with a class.
  const Fill objects = [](std::int64_t row, std::int64_t channel) {
    if (channel < 4) return decoded(row, channel);
    return channel == 4 || row % 10 == channel ? 0.9F : 0.3F;
  };
  EXPECT_EQ(HeadOutputs().rows(kHeadRows, 9, objects).name(), "yolov5");
}

TEST(DetectorSearch, KnowsThreeRowsForEachCell) {
  const auto fill = [](std::int64_t row, std::int64_t channel) {
    return decoded(row % kHeadRows, channel);
  };
  EXPECT_EQ(HeadOutputs().rows(3 * kHeadRows, 8, fill).name(), "yolov5");
  EXPECT_FALSE(HeadOutputs().rows(3 * kHeadRows + 1, 8, fill).has_candidates());
}

TEST(DetectorSearch, KnowsColumnsOfYolov8) {
  EXPECT_EQ(HeadOutputs().columns(kHeadRows, 7, decoded).name(), "yolov8");
  EXPECT_EQ(HeadOutputs().columns(kHeadRows, 5, decoded).name(), "yolov8");
}

TEST(DetectorSearch, KnowsHeadsOfYoloxInTheOrderOfTheirStrides) {
  const auto outputs = [](std::vector<std::int64_t> sides) {
    HeadOutputs answers;
    for (const std::int64_t side : sides) answers.map(side, 8, undecoded);
    return answers;
  };
  EXPECT_EQ(outputs({8, 4, 2}).name(), "yolox_heads");
  EXPECT_EQ(outputs({2, 4, 8}).name(), "");
  EXPECT_THAT(outputs({2, 4, 8}).search().doubt, HasSubstr("are maps of strides 32, 16, 8"));
}

TEST(DetectorSearch, SaysWhatIsMissingInHeadsThatAreNotDecoded) {
  const Fill logit = [](std::int64_t row, std::int64_t) { return static_cast<float>(row % 7) - 3; };
  HeadOutputs answers;
  answers.map(8, 255, logit).map(4, 255, logit).map(2, 255, logit);
  const std::string doubt = answers.search().doubt;
  EXPECT_EQ(answers.name(), "");
  EXPECT_THAT(doubt, HasSubstr("yolox_heads: found scores from -3.00 to 3.00, expected 0 to 1"));
  EXPECT_THAT(doubt, HasSubstr("maps of strides 8, 16, 32, which may be the heads of a detector"));
  HeadOutputs two;
  two.map(4, 144, logit).map(2, 144, logit);
  EXPECT_THAT(two.search().doubt, HasSubstr("the outputs [1, 144, 4, 4], [1, 144, 2, 2] are maps "
                                            "of strides 16, 32, which may be the heads"));
  EXPECT_THAT(two.search().doubt, HasSubstr("Export the network with decoded boxes"));
}

TEST(DetectorSearch, KnowsTheMapOfFastestdetByItsSoftmax) {
  const Fill map = [](std::int64_t row, std::int64_t channel) {
    if (channel >= 1 && channel < 5) return 0.1F * std::sin(static_cast<float>(row + channel));
    return channel == 0 ? 0.1F : channel == 5 ? 0.75F : 0.25F;
  };
  EXPECT_EQ(HeadOutputs().map(4, 7, map).name(), "fastestdet");
  // A segmenter whose map is as small: all channels together sum to 1.
  const Fill pixels = [](std::int64_t, std::int64_t) { return 1.0F / 7.0F; };
  EXPECT_EQ(HeadOutputs().map(4, 7, pixels).name(), "");
  EXPECT_EQ(HeadOutputs().map(4, 7, pixels).search().doubt, "");
}

// Two probabilities of each row, for `shift` 0; beyond it, no probabilities.
Fill scores(float shift) {
  return [=](std::int64_t row, std::int64_t channel) {
    const float first = 0.5F + 0.05F * static_cast<float>(row % 10);
    return shift + (channel == 0 ? first : 1.0F - first);
  };
}

float corners(std::int64_t row, std::int64_t channel) {
  const float begin = 0.01F * static_cast<float>(row % 50);
  return channel < 2 ? begin : begin + 0.3F;
}

float centre_and_size(std::int64_t row, std::int64_t channel) {
  return channel < 2 ? 0.5F + 0.01F * static_cast<float>(row % 20) : 0.2F;
}

TEST(DetectorSearch, TellsPairsApart) {
  EXPECT_EQ(HeadOutputs().rows(90, 2, scores(0.0F)).rows(90, 4, corners).name(), "ssd");
  EXPECT_EQ(HeadOutputs().rows(90, 4, corners).rows(90, 2, scores(0.0F)).name(), "ssd");
  EXPECT_EQ(HeadOutputs().rows(90, 2, scores(-3.0F)).rows(90, 4, corners).name(), "ssd_logits");
  EXPECT_EQ(HeadOutputs().rows(90, 2, scores(-3.0F)).rows(90, 4, centre_and_size).name(), "detr");
}

TEST(DetectorSearch, KnowsUltraFaceByItsRows) {
  constexpr std::int64_t kFaces = 3 * 64 + 2 * 16 + 2 * 4 + 3;  // strides 8, 16, 32 and 64
  EXPECT_EQ(HeadOutputs().rows(kFaces, 2, scores(0.0F)).rows(kFaces, 4, corners).name(),
            "ultraface");
  EXPECT_EQ(HeadOutputs().rows(kFaces, 4, corners).rows(kFaces, 2, scores(0.0F)).name(),
            "ultraface");
  EXPECT_EQ(HeadOutputs().rows(kFaces, 3, scores(0.0F)).rows(kFaces, 4, corners).name(), "ssd");
  EXPECT_EQ(HeadOutputs(240, 320).rows(4420, 2, scores(0.0F)).rows(4420, 4, corners).name(),
            "ultraface");
}

// Three classes and the background, so that both outputs have four channels.
TEST(DetectorSearch, SaysThatShapesDoNotTellBoxesFromFourScores) {
  const Fill four = [](std::int64_t, std::int64_t channel) {
    return channel == 0 ? 0.85F : 0.05F;  // most rows are background
  };
  EXPECT_EQ(HeadOutputs().rows(90, 4, four).rows(90, 4, corners).name(), "ssd");
  const RecognisedDetector found = HeadOutputs().rows(90, 4, corners).rows(90, 4, four).search();
  EXPECT_FALSE(found.detector);
  EXPECT_EQ(found.doubt,
            "ssd fits if the boxes are output 0 and the scores output 1, which its name does not "
            "say because both have four channels; a JSON file does");
}

TEST(DetectorSearch, SaysThatBoxesOfAPairAreOffsets) {
  const Fill offsets = [](std::int64_t row, std::int64_t channel) {
    return 2.0F * std::sin(static_cast<float>(row * 3 + channel));
  };
  const std::string doubt =
      HeadOutputs().rows(90, 2, scores(0.0F)).rows(90, 4, offsets).search().doubt;
  EXPECT_THAT(doubt,
              HasSubstr("ssd: found boxes with numbers from -2.00 to 2.00, expected shares"));
}

TEST(DetectorSearch, KnowsTheBestRowsOfYolo26) {
  const auto outputs = [](float fraction) {
    return HeadOutputs().rows(300, 6, [=](std::int64_t row, std::int64_t channel) {
      if (channel == 4) return 0.9F - 0.001F * static_cast<float>(row);
      if (channel == 5) return static_cast<float>(row % 80) + fraction;
      return static_cast<float>(row % 20 + (channel < 2 ? 0 : 30));
    });
  };
  EXPECT_EQ(outputs(0.0F).name(), "yolo26");
  EXPECT_THAT(outputs(0.5F).search().doubt,
              HasSubstr("yolo26: found the label 0.5, expected a whole number from 0"));
}

// `misordered`: the row whose corners are in the wrong order; `boxes`: the rows before the padding.
HeadOutputs best_rows(float step, std::int64_t misordered, std::int64_t boxes) {
  HeadOutputs outputs;
  return outputs.rows(300, 6, [=](std::int64_t row, std::int64_t channel) {
    if (row >= boxes) return channel == 5 ? -1.0F : 0.0F;
    if (channel == 4) return 0.9F - step * static_cast<float>(row);
    if (channel == 5) return static_cast<float>(row % 80);
    const bool is_low = (channel < 2) == (row != misordered);
    return static_cast<float>(row % 20 + (is_low ? 0 : 30));
  });
}

TEST(DetectorSearch, LooksAtTheCornersOfRowsThatAreBoxes) {
  EXPECT_EQ(best_rows(0.003F, 250, 300).name(), "yolo26");  // a score of 0.15
  EXPECT_EQ(best_rows(0.003F, 2, 300).name(), "yolo26");    // one of 217 boxes
  EXPECT_EQ(best_rows(0.01F, 3, 60).name(), "yolo26");      // padding with class -1
  EXPECT_THAT(best_rows(0.01F, 3, 10).search().doubt,
              HasSubstr("yolo26: found 10.0 % of the boxes with corners in the wrong order"));
}

TEST(DetectorSearch, OtherNetworksAreNoDetectors) {
  const Fill logit = [](std::int64_t row, std::int64_t channel) {
    return 4.0F * std::sin(static_cast<float>(row + 3 * channel));
  };
  // Classes, classes of pixels, steps of a text, features of patches.
  for (const HeadOutputs& answers :
       {HeadOutputs().map(1, 1000, logit), HeadOutputs().map(64, 21, logit),
        HeadOutputs().map(16, 2, logit), HeadOutputs().rows(1, 1000, logit),
        HeadOutputs().rows(16, 97, logit), HeadOutputs().rows(17, 192, logit)}) {
    EXPECT_FALSE(answers.has_candidates());
    const RecognisedDetector found = answers.search();
    EXPECT_FALSE(found.detector);
    EXPECT_EQ(found.doubt, "");
  }
}

// Their shapes are those of detectors, but their numbers are not, and no word is said.
TEST(DetectorSearch, NetworksWithTheShapesOfDetectorsAreNotDoubted) {
  const Fill logit = [](std::int64_t row, std::int64_t channel) {
    return 4.0F * std::sin(static_cast<float>(row + 3 * channel));
  };
  HeadOutputs backbone;
  backbone.map(4, 512, logit);
  HeadOutputs stages;
  stages.map(8, 128, logit).map(4, 256, logit).map(2, 512, logit);
  HeadOutputs pyramid;
  pyramid.map(8, 256, logit).map(4, 256, logit).map(2, 256, logit);
  HeadOutputs text(48, 320);
  text.rows(80, 97, logit);  // 80 = 20 * 3 + 10 * 2 cells of strides 16 and 32
  for (const HeadOutputs& answers : {backbone, stages, pyramid, text}) {
    const RecognisedDetector found = answers.search();
    EXPECT_FALSE(found.detector);
    EXPECT_EQ(found.doubt, "");
  }
}

TEST(DetectorSearch, OnlyImagesAndFloatsAreLookedAt) {
  const std::vector<PortInfo> rows{{"rows", DType::kFloat32, {1, kHeadRows, 8}}};
  EXPECT_FALSE(DetectorSearch(rows, {1, 80, 64, 64}, ChannelAxis::kFirst).has_candidates());
  EXPECT_FALSE(DetectorSearch(rows, {1, 64}, ChannelAxis::kFirst).has_candidates());
  EXPECT_TRUE(DetectorSearch(rows, {1, 64, 64, 3}, ChannelAxis::kLast).has_candidates());
  const std::vector<PortInfo> integers{{"rows", DType::kInt64, {1, kHeadRows, 8}}};
  EXPECT_FALSE(DetectorSearch(integers, {1, 3, 64, 64}, ChannelAxis::kFirst).has_candidates());
}

TEST(DetectorSearch, NumbersThatAreNotFiniteAreSaid) {
  const Fill fill = [](std::int64_t row, std::int64_t channel) {
    return row == 3 && channel == 1 ? std::nanf("") : undecoded(row, channel);
  };
  const RecognisedDetector found = HeadOutputs().rows(kHeadRows, 8, fill).search();
  EXPECT_FALSE(found.detector);
  EXPECT_THAT(found.doubt, HasSubstr("yolox: found numbers that are not finite"));
}

}  // namespace
}  // namespace qtool
