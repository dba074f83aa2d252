#include "answers/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "compare/model_pair.h"
#include "qtool/answers/answer.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "report/evaluation.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

/// A network that makes a row of six channels from each pixel (r, g, b) in 0 to 1: r, g and b times
/// `gain`, then r, g and b.
Graph pixel_network(float gain) {
  Graph graph;
  graph.info.opsets[""] = 13;
  const ValueId input = graph.add_value("pixels");
  graph.declare(input, DType::kFloat32, {{{{}, "N"}, {3, ""}, {4, ""}, {4, ""}}});
  graph.add_input(input);
  const auto add = [&](const char* op, std::vector<ValueId> inputs, const char* output) {
    const ValueId value = graph.add_value(output);
    Node node;
    node.name = node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {value};
    if (node.op_type == "Concat") node.attributes["axis"] = std::int64_t{1};
    graph.add_node(std::move(node));
    return value;
  };
  const ValueId factor = graph.add_constant("gain", Tensor::of<float>({1}, {gain}));
  const ValueId scaled = add("Mul", {input, factor}, "scaled");
  graph.add_output(add("Concat", {scaled, input}, "rows"));
  return graph;
}

/// Reads a box from each row: centre (r, g), size (b, r), score b.
AnswerOptions pixel_boxes() {
  AnswerOptions answers;
  Detector& detector = answers.boxes.emplace();
  detector.name = "pixels";
  detector.boxes.axis = detector.scores.axis = ChannelAxis::kFirst;
  detector.position.unit = detector.size.unit = BoxUnit::kShare;
  detector.thresholds = {0.2, 0.6};
  return answers;
}

class Answers : public testing::Test {
 protected:
  Answers() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / to_text("qtool_answers_", name);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::mt19937 random(3);
    for (int image = 0; image < 7; ++image) {
      std::string text = "P3 4 4 255\n";
      for (int i = 0; i < 48; ++i) text += to_text(static_cast<std::int64_t>(random() % 256), "\n");
      write_file(folder_ / to_text(image, ".ppm"), text);
    }
    options_.preprocess.std = {255.0F};
  }
  ~Answers() override { fs::remove_all(folder_); }

  [[nodiscard]] EvalResult run(float gain) const {
    const Executor fp32(pixel_network(1.0F));
    const Executor int8(pixel_network(gain));
    return evaluate(fp32, &int8, list_images(folder_), options_);
  }

  fs::path folder_;
  EvalOptions options_;
};

TEST_F(Answers, OfEqualModelsAreEqual) {
  options_.answers = pixel_boxes();
  const EvalResult result = run(1.0F);
  ASSERT_TRUE(result.answers.boxes);
  EXPECT_EQ(result.answers.boxes->images, 7);
  for (const BoxMatch& match : result.answers.boxes->matches) {
    EXPECT_GT(match.fp32, 7);
    EXPECT_EQ(match.int8, match.fp32);
    EXPECT_EQ(match.kept, match.fp32);
    EXPECT_DOUBLE_EQ(*match.mean_average_precision, 1.0);
  }
  EXPECT_EQ(result.classes, 0);
}

TEST_F(Answers, DependOnNeitherThreadsNorBatch) {
  options_.answers = pixel_boxes();
  options_.answers.mask.emplace();
  const AnswerAgreement one = run(0.9F).answers;
  options_.threads = 3;
  options_.batch = 2;
  const AnswerAgreement many = run(0.9F).answers;
  ASSERT_EQ(one.boxes->matches.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const BoxMatch& a = one.boxes->matches[i];
    const BoxMatch& b = many.boxes->matches[i];
    EXPECT_EQ(a.fp32, b.fp32);
    EXPECT_EQ(a.int8, b.int8);
    EXPECT_EQ(a.kept, b.kept);
    EXPECT_EQ(a.mean_average_precision, b.mean_average_precision);
    EXPECT_LT(a.kept, a.fp32);
    EXPECT_GT(a.kept, 0);
  }
  EXPECT_EQ(one.mask->pixels, 7 * 16);
  EXPECT_EQ(one.mask->equal, many.mask->equal);
  EXPECT_EQ(one.mask->mean_iou(), many.mask->mean_iou());
  EXPECT_LT(one.mask->equal, one.mask->pixels);
  ASSERT_TRUE(one.mask->equal_interval && one.mask->mean_iou_interval);
  EXPECT_EQ(one.mask->equal_interval, many.mask->equal_interval);
  EXPECT_EQ(one.mask->mean_iou_interval, many.mask->mean_iou_interval);
  EXPECT_LE(one.mask->mean_iou_interval->low, one.mask->mean_iou());
  EXPECT_GE(one.mask->mean_iou_interval->high, one.mask->mean_iou());
}

TEST_F(Answers, OfOneImageAreThoseOfAFolderWithIt) {
  options_.answers = pixel_boxes();
  const Executor fp32(pixel_network(1.0F));
  const Executor int8(pixel_network(0.9F));
  ImageSet images = list_images(folder_);
  images.entries.resize(1);
  const EvalResult folder = evaluate(fp32, &int8, images, options_);
  std::vector<BadImage> bad;
  const auto input =
      load_preprocessed(images.entries.front(), options_.preprocess, BadImages::kFail, bad);
  const InferResult one = infer(fp32, &int8, *input, {.repeat = 1, .answers = options_.answers});
  const BoxMatch& match = one.answers.boxes->matches.front();
  EXPECT_EQ(match.kept, folder.answers.boxes->matches.front().kept);
  EXPECT_EQ(std::ssize(one.fp32.answer.boxes), match.fp32);
  EXPECT_EQ(std::ssize(one.int8->answer.boxes), match.int8);
  std::int64_t both = 0;
  for (const BoxPair& pair : one.box_pairs) {
    if (pair.fp32 && pair.int8) ++both;
    EXPECT_EQ(pair.iou >= 0.5, pair.fp32 && pair.int8);
  }
  EXPECT_EQ(both, match.kept);
  EXPECT_EQ(std::ssize(one.box_pairs), match.fp32 + match.added());
}

// The boxes of FP32 down to a score of 0.001 are the annotations, so that FP32 is right and INT8 is
// not.
TEST_F(Answers, AreComparedWithAnnotations) {
  options_.answers = pixel_boxes();
  const Executor fp32(pixel_network(1.0F));
  AnswerOptions every = options_.answers;
  every.boxes->thresholds = {0.001};
  int low = 0;
  BoxAnnotations annotations{{}, {{1, "thing"}}};
  for (const ImageEntry& entry : list_images(folder_).entries) {
    std::vector<BadImage> bad;
    const auto input = load_preprocessed(entry, options_.preprocess, BadImages::kFail, bad);
    AnnotatedImage& image = annotations.images.emplace_back();
    image.file = entry.path.filename().string();
    image.width = image.height = 4;
    for (const Box& box :
         infer(fp32, nullptr, *input, {.repeat = 1, .answers = every}).fp32.answer.boxes) {
      if (box.score < 0.05F) ++low;
      const double width = double{box.right} - double{box.left};
      const double height = double{box.bottom} - double{box.top};
      image.boxes.push_back({0, box.left, box.top, width, height, width * height, false});
    }
  }
  EXPECT_GT(low, 0);
  const EvalResult before = run(0.9F);
  EXPECT_FALSE(before.accuracy);
  options_.annotations = &annotations;
  const EvalResult result = run(0.9F);
  ASSERT_TRUE(result.accuracy);
  EXPECT_EQ(result.accuracy->images, 7);
  EXPECT_EQ(result.answers.boxes->matches[0].mean_average_precision,
            before.answers.boxes->matches[0].mean_average_precision);
  EXPECT_NEAR(*result.accuracy->fp32.all, 1.0, 1e-9);
  EXPECT_LT(*result.accuracy->int8.all, 0.99);
  ASSERT_TRUE(result.accuracy->change_interval);
  EXPECT_LT(result.accuracy->change_interval->low, *result.accuracy->int8.all - 1.0);
  options_.threads = 3;
  options_.batch = 2;
  EXPECT_EQ(run(0.9F).accuracy->int8.all, result.accuracy->int8.all);
  const std::string text = text_of(result);
  EXPECT_THAT(text, testing::HasSubstr("annotated boxes in 7 images:\n"));
  EXPECT_THAT(text, testing::HasSubstr("\n  mAP, IoU 0.50 to 0.95"));
  EXPECT_THAT(json_of(result, {}), testing::HasSubstr("\"map_change_interval\": ["));
  EXPECT_THAT(text, testing::HasSubstr("categories by the order of their ids, since nothing names "
                                       "the detector's classes\n"));
  options_.class_names = {"Thing"};
  EXPECT_THAT(text_of(run(0.9F)), testing::HasSubstr("categories by name: 1 of 1\n"));
  options_.class_names.clear();
  annotations.images.front().width = 5;
  const EvalResult other = run(0.9F);
  EXPECT_EQ(other.accuracy->images, 6);
  EXPECT_EQ(other.accuracy->other_size, 1);
  EXPECT_THAT(
      other.doubts(),
      testing::Contains(testing::HasSubstr("'0.ppm' has 4x4 pixels, its annotation says 5x4")));
}

TEST_F(Answers, AreTextsWithTheirEdits) {
  options_.answers.text_blank = 0;
  const EvalResult equal = run(1.0F);
  ASSERT_TRUE(equal.answers.texts);
  EXPECT_EQ(equal.answers.texts->all, 7);
  EXPECT_EQ(equal.answers.texts->equal, 7);
  EXPECT_EQ(equal.answers.texts->edits, 0);
  EXPECT_GT(equal.answers.texts->characters, 7);
  ASSERT_TRUE(equal.answers.texts->equal_interval);
  EXPECT_LT(equal.answers.texts->equal_interval->low, 0.7);
  // A gain of -1 turns the order of the first three channels around.
  const EvalResult turned = run(-1.0F);
  EXPECT_LT(turned.answers.texts->equal, 7);
  EXPECT_GT(turned.answers.texts->edits, 0);
  options_.answers.characters = {"", "a", "b", "c", " "};  // for 4 classes, or 5 with the space
  EXPECT_EQ(run(1.0F).answers.texts->equal, 7);
  options_.answers.characters.pop_back();
  EXPECT_EQ(run(1.0F).answers.texts->equal, 7);
  options_.answers.characters.emplace_back("d");
  options_.answers.characters.emplace_back("e");
  try {
    static_cast<void>(run(1.0F));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMismatch);
    EXPECT_THAT(error.what(), testing::HasSubstr("scores 4 classes, expected 5"));
  }
}

TEST_F(Answers, HaveThePsnrThatTheErrorGives) {
  options_.answers.psnr_peak = 1.0;
  const EvalResult result = run(0.5F);
  ASSERT_TRUE(result.outputs.front().psnr_db);
  EXPECT_GT(*result.outputs.front().psnr_db, result.outputs.front().sqnr_db);
  EXPECT_EQ(*run(1.0F).outputs.front().psnr_db, kSqnrLimitDb);
  options_.answers.psnr_peak = 10.0;
  EXPECT_NEAR(*run(0.5F).outputs.front().psnr_db, *result.outputs.front().psnr_db + 20.0, 1e-9);
}

TEST_F(Answers, ThatTheOutputsCannotGiveAreRefused) {
  options_.answers = pixel_boxes();
  options_.answers.boxes->first_class_channel = 6;
  EXPECT_THROW(static_cast<void>(run(1.0F)), Error);
  options_.answers = {};
  options_.answers.mask = {0.5};
  EXPECT_THROW(static_cast<void>(run(1.0F)), Error);
}

}  // namespace
}  // namespace qtool
