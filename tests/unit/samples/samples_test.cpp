#include "qtool/samples/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "qtool/analyze/analyze.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "qtool/compare/profile.h"
#include "qtool/pipeline/calibrate.h"
#include "support/image_folder.h"
#include "support/tensor_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {
using testing::HasSubstr;

constexpr std::int64_t kSampleSide = 8;

Graph image_network() {
  Net net;
  net.input("image", {1, 3, kSampleSide, kSampleSide});
  const std::string hidden = net.op("Relu", "relu", {net.conv("conv", "image", 3)});
  net.output(net.conv("last", hidden, 3));
  return net.graph;
}

// A network that looks up token ids, adds a state of another rank, and multiplies by a matrix.
Graph two_input_network() {
  Net net;
  const ValueId ids = net.graph.add_value("ids");
  net.graph.declare(ids, DType::kInt64, std::vector<Dim>{{1, {}}, {std::nullopt, "length"}});
  net.graph.add_input(ids);
  net.input("state", {4});
  Tensor rows(DType::kFloat32, Shape{10, 4});
  for (std::size_t i = 0; i < 40; ++i) rows.values<float>()[i] = static_cast<float>(i) * 0.1F;
  Tensor matrix(DType::kFloat32, Shape{4, 3});
  for (std::size_t i = 0; i < 12; ++i) matrix.values<float>()[i] = static_cast<float>(i) - 5.5F;
  const std::string found =
      net.op("Gather", "lookup", {net.constant("rows", std::move(rows)), "ids"});
  const std::string sum = net.op("Add", "add", {found, "state"});
  net.output(net.op("MatMul", "product", {sum, net.constant("matrix", std::move(matrix))}));
  return net.graph;
}

// Three samples of two, three and four tokens, each with its state.
class TwoInputs : public testing::Test {
 protected:
  TwoInputs() {
    for (std::int64_t i = 0; i < 3; ++i) {
      Tensor ids(DType::kInt64, Shape{1, i + 2});
      for (std::int64_t& id : ids.values<std::int64_t>()) id = (i * 7 + 2) % 10;
      folder_.add(to_text("ids/", i, ".npy"), ids);
      folder_.count(to_text("state/", i, ".npy"), {4}, static_cast<float>(i));
    }
  }
  [[nodiscard]] Samples samples() const {
    return Samples(list_tensors(folder_.path(), input_specs(fp32_.graph())));
  }

  const TensorFolder folder_;
  const Executor fp32_{two_input_network()};
};

TEST(Samples, FallIntoPartsThatAreTheWholeTogether) {
  ImageSet images;
  for (const char* name : {"a", "b", "c", "d", "e"}) images.entries.push_back({name, -1});
  const Samples samples(std::move(images));
  const Samples odd = samples.part(0, 2);
  const Samples even = samples.part(1, 2);
  ASSERT_EQ(odd.size(), 3);
  ASSERT_EQ(even.size(), 2);
  EXPECT_EQ(odd.path(0), "a");
  EXPECT_EQ(odd.path(2), "e");
  EXPECT_EQ(even.path(0), "b");
  EXPECT_EQ(even.path(1), "d");
  EXPECT_EQ(samples.part(0, 1).size(), 5);
  EXPECT_EQ(samples.part(5, 6).size(), 0);
  const Samples rest = samples.all_but_part(1, 3);
  ASSERT_EQ(rest.size(), 3);
  EXPECT_EQ(rest.path(0), "a");
  EXPECT_EQ(rest.path(1), "c");
  EXPECT_EQ(rest.path(2), "d");
}

TEST(Samples, KnowThePicturesThatAreNotRead) {
  const ImageFolder folder(kSampleSide, 4);
  folder.add("scan.tif", 4);
  const Samples samples(folder.list());
  EXPECT_EQ(samples.size(), 4);
  EXPECT_EQ(samples.passed_over().count, 1);
  EXPECT_EQ(samples.part(1, 2).passed_over(), samples.passed_over());
  EXPECT_EQ(samples.spread(1).passed_over(), samples.passed_over());
  EXPECT_EQ(Samples(TensorSet()).passed_over(), PassedOver());
}

// The first value of an image after preprocessing. `offset`: the mean.
float first_value(const Samples& samples, std::int64_t i, float offset = 0.0F) {
  Preprocess preprocess;
  preprocess.mean = {offset};
  std::vector<BadImage> bad;
  return samples.load(i, preprocess, BadImages::kFail, bad)->front().values<float>()[0];
}

TEST(Samples, KeepImagesForThemselvesAndTheirParts) {
  const TensorFolder folder;
  folder.add("a.ppm", "P3 1 1 255 1 2 3\n");
  folder.add("b.ppm", "P3 1 1 255 4 5 6\n");
  const Samples others(list_images(folder.path()));
  Samples samples = others;
  samples.keep();
  const Samples part = samples.part(1, 2);
  EXPECT_EQ(first_value(samples, 0), 1.0F);
  EXPECT_EQ(first_value(part, 0), 4.0F);
  folder.add("a.ppm", "P3 1 1 255 7 8 9\n");
  folder.add("b.ppm", "P3 1 1 255 7 8 9\n");
  EXPECT_EQ(first_value(samples, 0), 1.0F);
  EXPECT_EQ(first_value(samples, 1), 4.0F) << "its part has read it";
  EXPECT_EQ(first_value(samples, 0, 2.0F), 5.0F) << "another preprocessing";
  EXPECT_EQ(first_value(others, 0), 7.0F) << "these keep nothing";
}

TEST(Samples, KeepNoMoreImagesThanTheirMemoryAllows) {
  constexpr std::int64_t kSide = 2048;  // 48 MiB of floats
  const TensorFolder folder;
  const auto add = [&](char name, char value) {
    folder.add(std::string(1, name) + ".pgm",
               to_text("P5 ", kSide, " ", kSide, " 255\n") + std::string(kSide * kSide, value));
  };
  for (const char name : {'a', 'b', 'c'}) add(name, 1);
  Samples samples(list_images(folder.path()));
  samples.keep();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(first_value(samples, i), 1.0F);
  for (const char name : {'a', 'b', 'c'}) add(name, 2);
  EXPECT_EQ(first_value(samples, 0), 1.0F);
  EXPECT_EQ(first_value(samples, 1), 1.0F);
  EXPECT_EQ(first_value(samples, 2), 2.0F) << "there was room for two";
}

TEST(Samples, OfATensorCalibrateAsTheImageItWasMadeOf) {
  const ImageFolder images(kSampleSide, 3);
  const TensorFolder tensors;
  const Executor fp32(image_network());
  CalibrateOptions options;
  options.collect.preprocess.mean = {127.5F};
  options.collect.preprocess.std = {64.0F};
  const ImageSet set = images.list();
  for (std::size_t i = 0; i < set.entries.size(); ++i) {
    std::vector<BadImage> bad;
    tensors.add(to_text(i, ".npy"), *load_preprocessed(set.entries[i], options.collect.preprocess,
                                                       BadImages::kFail, bad));
  }
  CalibrationTable of_images = calibrate(fp32, set, options).table;
  const Samples samples(list_tensors(tensors.path(), input_specs(fp32.graph())));
  CalibrationTable of_tensors = calibrate(fp32, samples, options).table;

  EXPECT_TRUE(of_images.preprocess);
  EXPECT_FALSE(of_tensors.preprocess);
  EXPECT_EQ(of_tensors.image_list_hash, hash_of(samples));
  of_images.preprocess.reset();  // these three tell where the samples come from
  of_images.image_list_hash = of_tensors.image_list_hash;
  of_images.image_ids = of_tensors.image_ids;
  EXPECT_EQ(write_table(of_tensors), write_table(of_images));
  EXPECT_EQ(read_table(write_table(of_tensors)), of_tensors);
}

TEST(Samples, OfTensorsKeepTheModelFromClaimingAPreprocessing) {
  const TensorFolder tensors;
  tensors.count("x.npy", {2, 3, kSampleSide, kSampleSide});
  const Executor fp32(image_network());
  const Samples samples(list_tensors(tensors.path(), input_specs(fp32.graph())));
  const CalibrationTable table = calibrate(fp32, samples, {}).table;
  EXPECT_EQ(table.image_count, 2);
  const Graph int8 = quantize(fp32.graph(), table).graph;
  EXPECT_FALSE(int8.info.metadata.contains("qtool.preprocess"));
  EXPECT_TRUE(int8.info.metadata.contains("qtool.method"));
}

TEST_F(TwoInputs, CalibrateAndCompareInEveryWay) {
  CalibrateOptions calibration;
  calibration.collect.threads = 1;
  const CalibrationResult calibrated = calibrate(fp32_, samples(), calibration);
  calibration.collect.threads = 3;
  EXPECT_EQ(write_table(calibrate(fp32_, samples(), calibration).table),
            write_table(calibrated.table));
  const ActivationEntry* sum = calibrated.table.find("add_out");
  ASSERT_NE(sum, nullptr);
  // Rows 2, 9 and 6 of the table plus states that begin with 0, 1 and 2.
  EXPECT_FLOAT_EQ(sum->observed.min, 0.8F);
  EXPECT_FLOAT_EQ(sum->observed.max, 3.9F + 4.0F);

  const Executor int8(quantize(fp32_.graph(), calibrated.table).graph);
  const EvalResult evaluated = evaluate(fp32_, &int8, samples(), {});
  EXPECT_EQ(evaluated.images, 3);
  ASSERT_EQ(evaluated.outputs.size(), 1U);
  EXPECT_GT(evaluated.outputs[0].pooled_sqnr_db, 30.0);
  EXPECT_THAT(evaluated.outputs[0].lowest_sqnr_image.string(), HasSubstr("/ids/"));

  const Samples all = samples();
  const std::vector<Tensor> sample = first_sample(all, {}, BadImages::kFail);
  EXPECT_GT(infer(fp32_, &int8, sample, {.repeat = 1}).outputs.at(0).sqnr_db, 30.0);
  EXPECT_FALSE(profile(fp32_, &int8, sample, {.repeat = 1}).fp32.steps.empty());
}

TEST_F(TwoInputs, AreRefusedToImagesAndToOtherNumbersOfInputs) {
  const ImageFolder images(kSampleSide, 1);
  const auto refusal = [&](const Executor& executor, const Samples& samples) -> std::string {
    try {
      static_cast<void>(calibrate(executor, samples, {}));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(fp32_, images.list()), HasSubstr("2 inputs"));
  EXPECT_THAT(refusal(Executor(image_network()), samples()), HasSubstr("for 2 inputs"));
}

TEST_F(TwoInputs, OfDifferentShapesAreRefusedWhereOneIsNeeded) {
  const CalibrationTable table = calibrate(fp32_, samples(), {}).table;
  const Executor int8(quantize(fp32_.graph(), table).graph);
  const auto refusal = [&](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMismatch) << error.what();
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal([&] { static_cast<void>(analyze(fp32_, int8, samples(), {})); }),
              HasSubstr("samples of one shape are needed here"));
  const Samples one(list_tensors(folder_.path(), input_specs(fp32_.graph()), 1));
  EXPECT_EQ(analyze(fp32_, int8, one, {}).images, 1);
}

TEST(ContentHash, NoticesBytesThatChangedInAFileOfTheSameSize) {
  const TensorFolder folder;
  folder.count("a.npy", Shape{3, 4}, 1.0F);
  folder.count("b.npy", Shape{3, 4}, 5.0F);
  const auto samples = [&] {
    return Samples(list_tensors(folder.path(), {InputSpec{"x", DType::kFloat32, {}}}));
  };
  const std::uint64_t listed = hash_of(samples());
  const std::uint64_t before = content_hash_of(samples());
  EXPECT_EQ(content_hash_of(samples()), before);
  folder.count("b.npy", Shape{3, 4}, 6.0F);
  EXPECT_EQ(hash_of(samples()), listed);
  EXPECT_NE(content_hash_of(samples()), before);
  folder.count("b.npy", Shape{3, 4}, 5.0F);
  EXPECT_EQ(content_hash_of(samples()), before);
}

TEST(ContentHash, ReadsTheImagesOfTheList) {
  const TensorFolder folder;
  folder.add("a.ppm", "P3 1 1 255 1 2 3\n");
  folder.add("b.ppm", "P3 1 1 255 4 5 6\n");
  const auto hash = [&](std::int64_t limit) {
    return content_hash_of(Samples(list_images(folder.path(), {}, limit)));
  };
  const std::uint64_t both = hash(0);
  const std::uint64_t first = hash(1);
  folder.add("b.ppm", "P3 1 1 255 4 5 7\n");
  EXPECT_NE(hash(0), both);
  EXPECT_EQ(hash(1), first) << "b is not in use";
}

}  // namespace
}  // namespace qtool
