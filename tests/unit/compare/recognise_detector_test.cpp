#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "support/image_folder.h"
#include "support/parse_onnx.h"

namespace qtool {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRandomClasses = 3;

// A network with random weights that ends in the head of a detector. It takes images of
// width x height pixels.
class DetectorNetwork {
 public:
  explicit DetectorNetwork(std::int64_t side) : DetectorNetwork(side, side) {}
  DetectorNetwork(std::int64_t width, std::int64_t height) : width_(width), height_(height) {}

  // `before`: number of channels before the classes. The rows of all strides are `all`, [1,
  // channels, rows], and their scores `p`.
  DetectorNetwork& trunk(std::int64_t before, std::int64_t classes = kRandomClasses) {
    channels_ = before + classes;
    std::string joined;
    for (const std::int64_t stride : {8, 16, 32}) {
      const std::string at = to_text(stride);
      constant("w" + at, {channels_, 3, 1, 1});
      node(to_text("pool", at, " = AveragePool <kernel_shape = [", at, ", ", at, "], strides = [",
                   at, ", ", at, "]> (x)"));
      node(to_text("map", at, " = Conv (pool", at, ", w", at, ")"));
      node(to_text("rows", at, " = Reshape (map", at, ", flat)"));
      joined += to_text(joined.empty() ? "" : ", ", "rows", at);
      rows_ += (width_ / stride) * (height_ / stride);
    }
    integers("flat", {1, channels_, -1});
    integers("parts", {2, 2, channels_ - 4});
    node("all = Concat <axis = 2> (" + joined + ")");
    node("raw_xy, raw_wh, logits = Split <axis = 1> (all, parts)");
    node("p = Sigmoid (logits)");
    return *this;
  }
  // Adds `xy` and `wh`, in pixels.
  DetectorNetwork& decode() {
    std::vector<float> centres(static_cast<std::size_t>(2 * rows_));
    std::vector<float> strides(static_cast<std::size_t>(rows_));
    std::size_t row = 0;
    for (const std::int64_t stride : {8, 16, 32}) {
      const std::int64_t columns = width_ / stride;
      for (std::int64_t cell = 0; cell < columns * (height_ / stride); ++cell, ++row) {
        const auto step = static_cast<float>(stride);
        centres[row] = (static_cast<float>(cell % columns) + 0.5F) * step;
        centres[row + strides.size()] = (static_cast<float>(cell / columns) + 0.5F) * step;
        strides[row] = step;
      }
    }
    values("centres", {1, 2, rows_}, centres);
    values("strides", {1, 1, rows_}, strides);
    node("far_xy = Mul (raw_xy, strides)");
    node("xy = Add (far_xy, centres)");
    node("exp_wh = Exp (raw_wh)");
    node("wh = Mul (exp_wh, strides)");
    return *this;
  }
  DetectorNetwork& corners() {
    values("quarter", {1}, {0.25F});  // small boxes, which lie inside the image
    node("half_wh = Mul (wh, quarter)");
    node("low = Sub (xy, half_wh)");
    node("high = Add (xy, half_wh)");
    return *this;
  }
  DetectorNetwork& node(const std::string& text) {
    nodes_ += "    " + text + "\n";
    return *this;
  }
  DetectorNetwork& output(const std::string& name, const std::vector<std::int64_t>& dims) {
    outputs_ += to_text(outputs_.empty() ? "" : ", ", "float[", list(dims), "] ", name);
    return *this;
  }
  DetectorNetwork& values(const std::string& name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& numbers) {
    std::string text;
    for (const float number : numbers) text += to_text(text.empty() ? "" : ", ", number);
    return initializer("float", name, dims, text);
  }
  DetectorNetwork& integers(const std::string& name, const std::vector<std::int64_t>& numbers) {
    return initializer("int64", name, {std::ssize(numbers)}, list(numbers));
  }
  DetectorNetwork& constant(const std::string& name, const std::vector<std::int64_t>& dims) {
    std::size_t size = 1;
    for (const std::int64_t dim : dims) size *= static_cast<std::size_t>(dim);
    std::vector<float> numbers(size);
    for (float& number : numbers) number = normal_(random_);
    return values(name, dims, numbers);
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t channels() const { return channels_; }

  [[nodiscard]] RecognisedDetector recognise() const {
    return recognise(ImageFolder(width_, 4), BadImages::kFail);
  }
  [[nodiscard]] RecognisedDetector recognise(const ImageFolder& folder, BadImages policy) const {
    const Executor executor(load_text(
        to_text("<ir_version: 8, opset_import: [\"\" : 17]>\ndetector (float[1, 3, ", height_, ", ",
                width_, "] x) => (", outputs_, ")\n<", initializers_, ">\n{\n", nodes_, "}\n")));
    Preprocess preprocess;
    preprocess.resize = ResizeMode::kSquash;
    preprocess.resize_width = width_;
    preprocess.resize_height = height_;
    preprocess.std = {255.0F};
    return recognise_detector(executor, folder.list(), preprocess, policy);
  }
  [[nodiscard]] std::string name() const {
    const RecognisedDetector found = recognise();
    EXPECT_EQ(found.doubt, "");
    return found.detector ? found.detector->name : "";
  }

 private:
  static std::string list(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers) text += to_text(text.empty() ? "" : ", ", number);
    return text;
  }
  DetectorNetwork& initializer(const std::string& type, const std::string& name,
                               const std::vector<std::int64_t>& dims, const std::string& numbers) {
    initializers_ += to_text(initializers_.empty() ? "" : ",\n ", type, "[", list(dims), "] ", name,
                             " = {", numbers, "}");
    return *this;
  }

  std::int64_t width_;
  std::int64_t height_;
  std::int64_t channels_ = 0;
  std::int64_t rows_ = 0;
  std::string nodes_;
  std::string outputs_;
  std::string initializers_;
  std::mt19937 random_{3};
  std::normal_distribution<float> normal_{0.0F, 0.4F};
};

DetectorNetwork yolox(std::int64_t width, std::int64_t height, std::int64_t classes) {
  DetectorNetwork network(width, height);
  network.trunk(5, classes);
  return network.node("joined = Concat <axis = 1> (raw_xy, raw_wh, p)")
      .node("y = Transpose <perm = [0, 2, 1]> (joined)")
      .output("y", {1, network.rows(), network.channels()});
}

TEST(RecogniseDetector, KnowsYoloxOfEverySize) {
  EXPECT_EQ(yolox(64, 64, 80).name(), "yolox");
  EXPECT_EQ(yolox(160, 160, 1).name(), "yolox");  // persons only
  EXPECT_EQ(yolox(320, 192, kRandomClasses).name(), "yolox");
  EXPECT_EQ(yolox(640, 640, kRandomClasses).name(), "yolox");
  const RecognisedDetector found = yolox(320, 320, kRandomClasses).recognise();
  ASSERT_TRUE(found.detector);
  EXPECT_EQ(found.detector->name, "yolox");
  EXPECT_EQ(found.images, 3);
}

TEST(RecogniseDetector, LooksAtEachImageOnce) {
  const ImageFolder folder(64, 2);
  write_file(folder.path() / "0.ppm", "no picture");
  const RecognisedDetector found =
      yolox(64, 64, kRandomClasses).recognise(folder, BadImages::kSkip);
  ASSERT_TRUE(found.detector) << found.doubt;
  EXPECT_EQ(found.images, 1);
}

TEST(RecogniseDetector, FindsNothingWithoutAnImage) {
  const ImageFolder folder(64, 1);
  write_file(folder.path() / "0.ppm", "no picture");
  const RecognisedDetector found =
      yolox(64, 64, kRandomClasses).recognise(folder, BadImages::kSkip);
  EXPECT_FALSE(found.detector);
  EXPECT_EQ(found.images, 0);
  EXPECT_EQ(found.doubt, "");
}

TEST(RecogniseDetector, KnowsYolov5) {
  for (const std::int64_t classes : {std::int64_t{1}, kRandomClasses}) {  // 1: persons only
    DetectorNetwork network(96);
    network.trunk(5, classes).decode();
    network.node("joined = Concat <axis = 1> (xy, wh, p)")
        .node("y = Transpose <perm = [0, 2, 1]> (joined)")
        .output("y", {1, network.rows(), network.channels()});
    EXPECT_EQ(network.name(), "yolov5") << classes;
  }
}

TEST(RecogniseDetector, KnowsYolov8And11) {
  for (const std::int64_t classes : {std::int64_t{1}, kRandomClasses}) {  // 1: persons only
    DetectorNetwork network(96);
    network.trunk(4, classes).decode();
    network.node("y = Concat <axis = 1> (xy, wh, p)")
        .output("y", {1, network.channels(), network.rows()});
    EXPECT_EQ(network.name(), "yolov8") << classes;
  }
}

TEST(RecogniseDetector, TakesNoTransposedYolov8ForYolov5) {
  DetectorNetwork network(96);
  network.trunk(4, 80).decode();
  network.node("joined = Concat <axis = 1> (xy, wh, p)")
      .node("y = Transpose <perm = [0, 2, 1]> (joined)")
      .output("y", {1, network.rows(), network.channels()});
  EXPECT_FALSE(network.recognise().detector);
}

TEST(RecogniseDetector, KnowsYolo26) {
  DetectorNetwork network(96);
  network.trunk(4).decode().corners();
  network.integers("count", {50})
      .integers("column", {1, 50, 1})
      .integers("line", {50})
      .node("best = ReduceMax <axes = [1], keepdims = 0> (p)")
      .node("classes = ArgMax <axis = 1, keepdims = 0> (p)")
      .node("labels = Cast <to = 1> (classes)")
      .node("scores, chosen = TopK <axis = 1> (best, count)")
      .node("at = Reshape (chosen, line)")
      .node("boxes = Concat <axis = 1> (low, high)")
      .node("best_boxes = Gather <axis = 2> (boxes, at)")
      .node("box_rows = Transpose <perm = [0, 2, 1]> (best_boxes)")
      .node("best_labels = Gather <axis = 1> (labels, at)")
      .node("label_rows = Reshape (best_labels, column)")
      .node("score_rows = Reshape (scores, column)")
      .node("y = Concat <axis = 2> (box_rows, score_rows, label_rows)")
      .output("y", {1, 50, 6});
  EXPECT_EQ(network.name(), "yolo26");
}

TEST(RecogniseDetector, KnowsSsdPairsInBothOrders) {
  for (const bool logits : {false, true}) {
    for (const bool boxes_first : {false, true}) {
      DetectorNetwork network(64);
      network.trunk(4).decode().corners();
      network.values("side", {1}, {64.0F})
          .node("ends = Concat <axis = 1> (low, high)")
          .node("shares = Div (ends, side)")
          .node("boxes = Transpose <perm = [0, 2, 1]> (shares)")
          .node("numbers = Transpose <perm = [0, 2, 1]> (logits)")
          .node(logits ? "scores = Identity (numbers)" : "scores = Softmax <axis = 2> (numbers)");
      if (boxes_first) network.output("boxes", {1, network.rows(), 4});
      network.output("scores", {1, network.rows(), kRandomClasses});
      if (!boxes_first) network.output("boxes", {1, network.rows(), 4});
      EXPECT_EQ(network.name(), logits ? "ssd_logits" : "ssd") << boxes_first;
    }
  }
}

TEST(RecogniseDetector, SaysThatSsdOffsetsAreNotDecoded) {
  DetectorNetwork network(64);
  network.trunk(4);
  network.values("far", {1}, {5.0F})
      .node("offsets = Concat <axis = 1> (raw_xy, raw_wh)")
      .node("far_offsets = Mul (offsets, far)")
      .node("boxes = Transpose <perm = [0, 2, 1]> (far_offsets)")
      .node("numbers = Transpose <perm = [0, 2, 1]> (logits)")
      .node("scores = Softmax <axis = 2> (numbers)")
      .output("scores", {1, network.rows(), kRandomClasses})
      .output("boxes", {1, network.rows(), 4});
  const RecognisedDetector found = network.recognise();
  EXPECT_FALSE(found.detector);
  EXPECT_THAT(found.doubt, HasSubstr("ssd: found boxes with numbers from"));
  EXPECT_THAT(found.doubt, HasSubstr("expected shares of the input, 0 to 1"));
}

TEST(RecogniseDetector, KnowsDetr) {
  DetectorNetwork network(64);
  network.trunk(4, 92);
  // The sides of some boxes are as large as their centres, so that they cannot be corners.
  network.values("small", {1}, {3.0F})
      .node("raw = Concat <axis = 1> (raw_xy, raw_wh)")
      .node("lower = Sub (raw, small)")
      .node("shares = Sigmoid (lower)")
      .node("boxes = Transpose <perm = [0, 2, 1]> (shares)")
      .node("classes = Transpose <perm = [0, 2, 1]> (logits)")
      .output("classes", {1, network.rows(), 92})
      .output("boxes", {1, network.rows(), 4});
  const RecognisedDetector found = network.recognise();
  ASSERT_TRUE(found.detector) << found.doubt;
  EXPECT_EQ(found.detector->name, "detr");
}

TEST(RecogniseDetector, HeadsThatAreNotJoinedAreExplained) {
  DetectorNetwork network(64);
  network.trunk(5);
  network.output("map8", {1, network.channels(), 8, 8})
      .output("map16", {1, network.channels(), 4, 4});
  const RecognisedDetector found = network.recognise();
  EXPECT_FALSE(found.detector);
  EXPECT_THAT(found.doubt, HasSubstr("are maps of strides 8, 16"));
}

TEST(RecogniseDetector, ClassesAreNoBoxes) {
  DetectorNetwork network(64);
  network.trunk(4);
  network.node("mean = GlobalAveragePool (map8)")
      .integers("line", {1, -1})
      .node("y = Reshape (mean, line)")
      .output("y", {1, network.channels()});
  EXPECT_EQ(network.name(), "");
  EXPECT_EQ(network.recognise().images, 0);  // nothing was run
}

}  // namespace
}  // namespace qtool
