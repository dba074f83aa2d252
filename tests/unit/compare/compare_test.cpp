#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "compare/intervals.h"
#include "compare/metrics.h"
#include "qtool/answers/answer.h"
#include "qtool/base/error.h"
#include "qtool/calib/collect.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "qtool/exec/executor.h"
#include "report/samples.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

/// A network with three classes, whose scores are the means of the three colour channels. So it
/// names the dominating colour.
Graph colour_network(const char* output = "scores", float red_gain = 1.0F) {
  Graph graph;
  graph.info.opsets[""] = 13;
  const ValueId input = graph.add_value("pixels");
  graph.declare(input, DType::kFloat32, {{{{}, "N"}, {3, ""}, {2, ""}, {2, ""}}});
  graph.add_input(input);
  Tensor weight = Tensor::of<float>({3, 3, 1, 1}, {red_gain, 0, 0, 0, 1, 0, 0, 0, 1});
  const ValueId filter = graph.add_constant("filter", std::move(weight));
  const ValueId mixed = graph.add_value("mixed");
  Node conv;
  conv.name = "mix";
  conv.op_type = "Conv";
  conv.inputs = {input, filter};
  conv.outputs = {mixed};
  graph.add_node(std::move(conv));
  const ValueId scores = graph.add_value(output);
  Node pool;
  pool.name = "pool";
  pool.op_type = "GlobalAveragePool";
  pool.inputs = {mixed};
  pool.outputs = {scores};
  graph.add_node(std::move(pool));
  graph.add_output(scores);
  return graph;
}

class Colours : public testing::Test {
 protected:
  Colours() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / to_text("qtool_colours_", name);
    fs::remove_all(folder_);
    for (const char* colour : {"red", "green", "blue"}) fs::create_directories(folder_ / colour);
    // One reddish image lies in the wrong folder, so that top-1 is not 100 %.
    paint("red/0.ppm", {250, 20, 30});
    paint("red/1.ppm", {200, 100, 30});
    paint("green/0.ppm", {10, 255, 30});
    paint("green/1.ppm", {130, 120, 30});
    paint("blue/0.ppm", {10, 25, 130});
  }
  ~Colours() override { fs::remove_all(folder_); }

  void paint(const std::string& name, std::array<int, 3> colour, int side = 2) const {
    std::string text = to_text("P3 ", side, " ", side, " 255\n");
    for (int i = 0; i < side * side; ++i) {
      text += to_text(colour[0], " ", colour[1], " ", colour[2], "\n");
    }
    write_file(folder_ / name, text);
  }
  [[nodiscard]] ImageSet images() const { return list_images(folder_, labels_, 0); }

  fs::path folder_;
  std::vector<std::string> labels_{"red", "green", "blue"};
};

TEST_F(Colours, AreCountedAgainstTheirFolders) {
  const Executor network(colour_network());
  const EvalResult result = evaluate(network, nullptr, images(), {});
  EXPECT_EQ(result.images, 5);
  EXPECT_EQ(result.labelled, 5);
  EXPECT_EQ(result.classes, 3);
  EXPECT_EQ(result.fp32.top1, 4);
  EXPECT_EQ(result.fp32.top5, 5);
  EXPECT_FALSE(result.int8.has_value());
  EXPECT_THAT(result.outputs, testing::IsEmpty());
}

TEST_F(Colours, TellTwoModelsApart) {
  const Executor network(colour_network());
  const Executor blind_to_red(colour_network("scores", 0.0F));
  const EvalResult result = evaluate(network, &blind_to_red, images(), {});
  EXPECT_EQ(result.fp32.top1, 4);
  EXPECT_EQ(result.int8->top1, 3);  // both reds are lost, the mislabelled one is won
  EXPECT_EQ(result.agreement, 2);
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0].name, "scores");
  EXPECT_DOUBLE_EQ(result.outputs[0].max_abs_error, 250.0);
  const std::vector<float> reference{250, 20, 30};
  const std::vector<float> without_red{0, 20, 30};
  EXPECT_NEAR(result.outputs[0].lowest_sqnr_db, sqnr_db(reference, without_red), 1e-9);
}

TEST_F(Colours, AreEachListedWithBothAnswersAndMargins) {
  const Executor network(colour_network());
  const Executor blind_to_red(colour_network("scores", 0.0F));
  const EvalResult result = evaluate(network, &blind_to_red, images(), {});
  EXPECT_EQ(result.class_names, labels_);
  ASSERT_EQ(result.samples.size(), 5U);
  const auto reddest = std::find_if(
      result.samples.begin(), result.samples.end(),
      [&](const SampleResult& sample) { return sample.path == folder_ / "red/0.ppm"; });
  ASSERT_NE(reddest, result.samples.end());
  EXPECT_TRUE(reddest->flipped());
  EXPECT_EQ(reddest->label, 0);
  EXPECT_EQ(reddest->top1[0].index, 0);  // 250, 20, 30
  EXPECT_EQ(reddest->top1[0].margin, 220.0);
  EXPECT_EQ(reddest->top1[1].index, 2);  // 0, 20, 30
  EXPECT_EQ(reddest->top1[1].margin, 10.0);
  EXPECT_EQ(reddest->margin_lost, 250.0);
  ASSERT_EQ(reddest->sqnr_db.size(), 1U);
  EXPECT_EQ(reddest->sqnr_db[0], result.outputs[0].lowest_sqnr_db);
  EXPECT_EQ(std::ranges::count_if(result.samples, &SampleResult::flipped),
            result.images - result.agreement);
}

TEST_F(Colours, PoolTheNoiseAndNameTheWorstImage) {
  const Executor network(colour_network());
  const Executor faint(colour_network("scores", 0.5F));
  const EvalResult result = evaluate(network, &faint, images(), {});
  SqnrSums sums;
  double mean = 0.0;
  for (const std::vector<float>& x : {std::vector<float>{10, 25, 130},
                                      {10, 255, 30},
                                      {130, 120, 30},
                                      {250, 20, 30},
                                      {200, 100, 30}}) {
    const std::vector<float> y{0.5F * x[0], x[1], x[2]};
    sums += sqnr_sums(x, y);
    mean += sqnr_db(x, y) / 5.0;
  }
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_NEAR(result.outputs[0].sqnr_db, mean, 1e-9);
  EXPECT_NEAR(result.outputs[0].pooled_sqnr_db, 10.0 * std::log10(sums.signal / sums.noise), 1e-9);
  EXPECT_EQ(result.outputs[0].lowest_sqnr_image, folder_ / "red/0.ppm");
  EXPECT_THAT(result.doubts(), testing::IsEmpty());
}

// See intervals_test.cpp for the intervals themselves.
TEST_F(Colours, HaveIntervalsOfTheirOwnFigures) {
  const Executor network(colour_network());
  const Executor blind_to_red(colour_network("scores", 0.0F));
  const EvalResult result = evaluate(network, &blind_to_red, images(), {});
  EXPECT_EQ(result.agreement_interval(), wilson_interval(2, 5));
  EXPECT_EQ(result.top1_interval(result.fp32), wilson_interval(4, 5));
  EXPECT_EQ(result.top1_interval(*result.int8), wilson_interval(3, 5));
  // Two reds are lost, one image is won.
  ASSERT_TRUE(result.top1_change_interval.has_value());
  EXPECT_LT(result.top1_change_interval->low, -0.2);
  EXPECT_GT(result.top1_change_interval->high, -0.2);
  const OutputError& output = result.outputs.at(0);
  EXPECT_FALSE(output.sqnr_interval || output.pooled_interval) << "of five images";
  const EvalResult alone = evaluate(network, nullptr, images(), {});
  EXPECT_FALSE(alone.agreement_interval());
  EXPECT_FALSE(alone.top1_change_interval);
}

TEST_F(Colours, WithoutAnAnswerCountForNothing) {
  paint("red/1.ppm", {1, 100, 30});
  paint("green/0.ppm", {1, 255, 30});
  paint("green/1.ppm", {1, 120, 30});
  paint("blue/0.ppm", {1, 25, 130});
  const Executor network(colour_network());
  const Executor overflowing(colour_network("scores", 1.5e36F));  // 250 times as much is infinite
  EvalResult result = evaluate(network, &overflowing, images(), {});
  EXPECT_EQ(result.fp32.unanswered.images, 0);
  EXPECT_EQ(result.int8->unanswered.images, 1);
  EXPECT_EQ(result.int8->unanswered.first, folder_ / "red/0.ppm");
  EXPECT_EQ(result.int8->top1, 1);  // every answer is red, which is right for red/1 only
  EXPECT_NE(result.outputs[0].lowest_sqnr_image, folder_ / "red/0.ppm");
  EXPECT_FALSE(result.useless());
  EXPECT_THAT(result.doubts(),
              testing::ElementsAre(testing::HasSubstr(
                  "the INT8 model's outputs are NaN or infinite for 1 of 5 images")));
  // If neither model has an answer, that is no agreement.
  for (const char* name : {"red/1.ppm", "green/0.ppm", "green/1.ppm", "blue/0.ppm"}) {
    paint(name, {250, 0, 0});
  }
  result = evaluate(overflowing, &overflowing, images(), {});
  EXPECT_EQ(result.agreement, 0);
  EXPECT_EQ(result.fp32.top1, 0);
  EXPECT_TRUE(std::isnan(result.outputs[0].sqnr_db));
  EXPECT_TRUE(result.useless());
  const Tensor input =
      Tensor::of<float>({1, 3, 2, 2}, {250, 250, 250, 250, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_TRUE(infer(network, nullptr, input, {.repeat = 1}).fp32.answered);
  EXPECT_FALSE(infer(overflowing, nullptr, input, {.repeat = 1}).fp32.answered);
}

TEST_F(Colours, GiveTheSameResultForEveryBatchAndThreadCount) {
  const Executor network(colour_network());
  const Executor other(colour_network("scores", 0.7F));
  const EvalResult expected = evaluate(network, &other, images(), {.threads = 1});
  for (const std::int64_t batch : {1, 2, 3, 8}) {
    for (const int threads : {1, 3}) {
      const EvalResult result =
          evaluate(network, &other, images(), {.threads = threads, .batch = batch});
      EXPECT_EQ(result.images, expected.images);
      EXPECT_EQ(result.int8->top1, expected.int8->top1);
      EXPECT_EQ(result.agreement, expected.agreement);
      EXPECT_EQ(samples_csv(result), samples_csv(expected));
      EXPECT_EQ(result.outputs[0].sqnr_db, expected.outputs[0].sqnr_db);
      EXPECT_EQ(result.outputs[0].pooled_sqnr_db, expected.outputs[0].pooled_sqnr_db);
      EXPECT_EQ(result.outputs[0].cosine, expected.outputs[0].cosine);
      EXPECT_EQ(result.outputs[0].max_abs_error, expected.outputs[0].max_abs_error);
    }
  }
}

TEST_F(Colours, RunOnOnePlanOfEachModelWhateverTheWorkers) {
  for (int i = 2; i < 40; ++i) paint(to_text("blue/", i, ".ppm"), {10, 25, 100 + i});
  for (const int threads : {1, 4}) {
    const Executor network(colour_network());
    const Executor other(colour_network("scores", 0.8F));
    EXPECT_EQ(evaluate(network, &other, images(), {.threads = threads}).workers, threads);
    EXPECT_EQ(network.counts().compiled, 1);
    EXPECT_EQ(other.counts().compiled, 1);
    evaluate(network, &other, images(), {.threads = threads});
    EXPECT_EQ(network.counts().compiled, 1);
    evaluate(network, &other, images(), {.threads = threads, .batch = 3});
    EXPECT_EQ(network.counts().compiled, 2);
    EXPECT_EQ(other.counts().compiled, 2);
  }
}

TEST_F(Colours, CalibrateOnOnePlanWhateverTheWorkers) {
  for (int i = 2; i < 40; ++i) paint(to_text("blue/", i, ".ppm"), {10, 25, 100 + i});
  const Executor network(colour_network());
  CollectOptions options;
  options.tensors = {"pixels", "mixed"};
  options.threads = 4;
  EXPECT_EQ(collect(network, images(), options).image_count, 43);
  EXPECT_EQ(network.counts().compiled, 1);
}

TEST_F(Colours, AreLeftOutAndNamedWhenBad) {
  write_file(folder_ / "blue/broken.ppm", "P3 2 2 255\n1 2");
  write_file(folder_ / "blue/scan.tif", "x");
  const Executor network(colour_network());
  for (const std::int64_t batch : {1, 4}) {
    const EvalResult result = evaluate(network, nullptr, images(), {.batch = batch});
    EXPECT_EQ(result.images, 5);
    ASSERT_EQ(result.bad.size(), 1U);
    EXPECT_THAT(result.bad[0].path.string(), testing::EndsWith("broken.ppm"));
    EXPECT_EQ(result.passed_over.count, 1);
  }
  EXPECT_THROW(evaluate(network, nullptr, images(), {.bad_images = BadImages::kFail}), Error);
}

TEST_F(Colours, OfAnotherSizeAreRefusedByName) {
  paint("red/2.ppm", {1, 2, 3}, 4);
  const Executor network(colour_network());
  try {
    evaluate(network, nullptr, images(), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMismatch);
    EXPECT_THAT(error.what(), testing::HasSubstr("2.ppm"));
  }
}

TEST_F(Colours, BeyondTheClassesOfTheNetworkAreRefused) {
  ImageSet numbered = list_images(folder_);
  numbered.entries.front().label = 3;
  const Executor network(colour_network());
  try {
    evaluate(network, nullptr, numbered, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("has class 3, the network knows classes 0 to 2"));
  }
}

TEST_F(Colours, AreRefusedWhenTheLabelsDoNotNameEachClass) {
  const Executor network(colour_network());
  const auto refusal = [&](std::vector<std::string> labels, LabelSource source) -> std::string {
    labels_ = std::move(labels);
    try {
      evaluate(network, nullptr, images(), {.labels = source});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch);
      return error.what();
    }
    return "accepted";
  };
  const auto named = [&](std::vector<std::string> labels) {
    return refusal(std::move(labels), LabelSource::kNamed);
  };
  // All labels of the images are below 3, so that no image shows that the list is wrong.
  EXPECT_EQ(named({"red", "green", "blue", "black", "white"}),
            "the labels have 5 lines, the network has 3 classes");
  EXPECT_THAT(named({"background", "red", "green", "blue"}),
              testing::AllOf(testing::HasSubstr("4 lines"), testing::HasSubstr("leave it out")));
  fs::remove_all(folder_ / "blue");
  EXPECT_THAT(named({"red", "green"}),
              testing::AllOf(testing::HasSubstr("2 lines"), testing::HasSubstr("need a line")));
  EXPECT_EQ(named({"red", "green", "blue"}), "accepted");
  EXPECT_EQ(refusal({"red", "green"}, LabelSource::kUnused), "accepted");
  // The names of folders are no list: two of three classes may have images.
  EXPECT_EQ(evaluate(network, nullptr, list_images(folder_), {}).labelled, 4);
}

TEST_F(Colours, InFewerFoldersThanClassesAreNotGuessedAt) {
  fs::remove_all(folder_ / "red");
  const Executor network(colour_network());
  const ImageSet by_folder = list_images(folder_, {}, 0);
  const EvalResult guessed =
      evaluate(network, nullptr, by_folder, {.labels = LabelSource::kFolders});
  EXPECT_TRUE(guessed.labels_ignored);
  EXPECT_EQ(guessed.labelled, 0);
  EXPECT_EQ(guessed.images, 3);
  EXPECT_TRUE(guessed.class_names.empty());
  for (const SampleResult& sample : guessed.samples) EXPECT_EQ(sample.label, -1);
  const EvalResult named = evaluate(network, nullptr, images(), {});
  EXPECT_FALSE(named.labels_ignored);
  EXPECT_EQ(named.fp32.top1, 2);
}

TEST_F(Colours, StopWhenTheCallerAsks) {
  const Executor network(colour_network());
  EvalOptions options;
  options.progress = [](std::int64_t done, std::int64_t) {
    return done >= 2 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  try {
    evaluate(network, nullptr, images(), options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST(Infer, ListsClassesBestFirstWithProbabilities) {
  const Executor network(colour_network());
  const Tensor input = Tensor::of<float>({1, 3, 2, 2}, {1, 1, 1, 1, 3, 3, 3, 3, 2, 2, 2, 2});
  const InferResult result = infer(network, &network, input, {.threads = 1, .top = 2, .repeat = 3});
  ASSERT_EQ(result.fp32.top.size(), 2U);
  EXPECT_EQ(result.fp32.top[0].index, 1);
  EXPECT_EQ(result.fp32.top[1].index, 2);
  EXPECT_NEAR(result.fp32.top[0].probability, 0.6652, 1e-4);
  EXPECT_GT(result.fp32.seconds, 0.0);
  EXPECT_EQ(result.outputs[0].sqnr_db, kSqnrLimitDb);
}

TEST(Infer, RefusesModelsThatDoNotBelongTogether) {
  const Executor network(colour_network());
  Graph two_outputs = colour_network();
  two_outputs.add_output(*two_outputs.find_value("mixed"));
  const Executor other(std::move(two_outputs));
  const Tensor input(DType::kFloat32, {1, 3, 2, 2});
  EXPECT_THROW(infer(network, &other, input, {}), Error);
}

TEST(Infer, StopsWhenProgressSaysSo) {
  const Executor network(colour_network());
  const Tensor input(DType::kFloat32, {1, 3, 2, 2});
  std::vector<std::int64_t> calls;
  InferOptions options;
  options.threads = 1;
  options.repeat = 1000;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 1000);
    calls.push_back(done);
    return done == 2 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  try {
    static_cast<void>(infer(network, nullptr, input, options));
    ADD_FAILURE() << "was not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_EQ(calls, (std::vector<std::int64_t>{0, 1, 2}));  // the first run is not timed
}

TEST(ImageInput, IsTheOnlyOneOrNamesThemAll) {
  Graph graph = colour_network();
  EXPECT_EQ(image_input(graph).name, "pixels");
  graph.add_input(graph.add_value("state"));
  try {
    static_cast<void>(image_input(graph));
    FAIL() << "two inputs were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("2 inputs ('pixels', 'state')"));
  }
}

TEST(OutputError, OfEqualOutputsIsNone) {
  const OutputError none;
  EXPECT_EQ(none.cosine, 1.0);
  EXPECT_EQ(none.max_abs_error, 0.0);
}

}  // namespace
}  // namespace qtool
