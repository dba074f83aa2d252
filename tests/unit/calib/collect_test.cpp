#include "qtool/calib/collect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "calib/decide.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/samples/samples.h"
#include "support/image_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

constexpr std::int64_t kCollectedSide = 8;

Graph small_net(Dim batch = {std::nullopt, "N"}) {
  Net net;
  net.input("image", {1, 3, kCollectedSide, kCollectedSide});
  const ValueId id = *net.graph.find_value("image");
  net.graph.declare(
      id, DType::kFloat32,
      std::vector<Dim>{std::move(batch), {3, {}}, {kCollectedSide, {}}, {kCollectedSide, {}}});
  net.op("Relu", "relu", {net.conv("conv", "image", 3)});
  net.graph.add_output(*net.graph.find_value("relu_out"));
  return net.graph;
}

class CollectTest : public testing::Test {
 protected:
  CollectTest() {
    options_.tensors = {"relu_out", "image"};
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    options_.threads = 1;
  }

  [[nodiscard]] ImageSet images() const { return folder_.list(); }
  [[nodiscard]] Collection collect_with(const Graph& graph) const {
    return collect(Executor(graph), images(), options_);
  }
  [[nodiscard]] std::string refusal(const Graph& graph, ErrorCode code) const {
    try {
      static_cast<void>(collect_with(graph));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "accepted";
  }

  const ImageFolder folder_{kCollectedSide, 9};
  CollectOptions options_;
};

// The channels of a tensor that a MatMul or a recurrent layer reads are its last axis, unless a
// convolution reads it too.
TEST_F(CollectTest, TakesForChannelsWhatAMatrixProductMultiplies) {
  for (const bool has_convolution : {false, true}) {
    Net net;
    net.graph = small_net({1, {}});
    net.constant("matrix", Tensor(DType::kFloat32, {kCollectedSide, 2}));
    net.output(net.op("MatMul", "product", {"relu_out", "matrix"}));
    if (has_convolution) net.output(net.conv("other", "relu_out", 3));
    const Collection collection = collect_with(net.graph);
    const TensorStatistics& relu = collection.tensors[1];
    ASSERT_EQ(relu.statistics.channels(), has_convolution ? 3 : kCollectedSide);
    EXPECT_EQ(collection.tensors[0].statistics.channels(), 3);
    // Statistics that are not per channel stay the same.
    const Collection plain = collect_with(small_net());
    EXPECT_EQ(relu.statistics.count(), plain.tensors[1].statistics.count());
    EXPECT_EQ(relu.statistics.max(), plain.tensors[1].statistics.max());
    EXPECT_NEAR(relu.statistics.mean(), plain.tensors[1].statistics.mean(), 1e-9);
    if (has_convolution) continue;
    double mean = 0.0;
    for (std::int64_t c = 0; c < kCollectedSide; ++c)
      mean += relu.statistics.channel_mean(c) / kCollectedSide;
    EXPECT_NEAR(mean, relu.statistics.mean(), 1e-9);
  }
}

TEST_F(CollectTest, ObservesTheNamedTensorsInTheGraphsOrder) {
  const Collection collection = collect_with(small_net());
  ASSERT_EQ(collection.tensors.size(), 2U);
  EXPECT_EQ(collection.tensors[0].tensor, "image");
  EXPECT_EQ(collection.tensors[0].producer, "");
  EXPECT_EQ(collection.tensors[1].tensor, "relu_out");
  EXPECT_EQ(collection.tensors[1].producer, "relu");
  EXPECT_EQ(collection.image_count, 9);
  EXPECT_EQ(collection.model_fingerprint, fingerprint(small_net()));
  EXPECT_EQ(collection.image_list_hash, hash_of(images()));
  for (const TensorStatistics& tensor : collection.tensors) {
    EXPECT_EQ(tensor.statistics.images(), 9);
    EXPECT_EQ(tensor.statistics.count(), 9 * 3 * kCollectedSide * kCollectedSide);
  }
  EXPECT_GE(collection.tensors[1].statistics.min(), 0.0F);
  EXPECT_GT(collection.tensors[1].statistics.zeros(), 0);
}

TEST_F(CollectTest, NamesTheContentsOfTheImagesThatItObserved) {
  const Collection collection = collect_with(small_net());
  std::vector<std::uint64_t> ids;
  for (const std::optional<std::uint64_t>& id : content_ids(images())) ids.push_back(id.value());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids.size(), 9U);
  EXPECT_EQ(collection.image_ids, ids);
}

TEST_F(CollectTest, TellsMapsFromVectors) {
  EXPECT_EQ(collect_with(small_net()).outputs, Outputs::kMaps);
  const auto pooled = [](bool flat, bool both) {
    Net net;
    net.graph = small_net();
    const ValueId relu = *net.graph.find_value("relu_out");
    net.op("GlobalAveragePool", "pool", {"relu_out"});
    if (flat) net.op("Flatten", "flat", {"pool_out"});
    net.graph.add_output(net.id(flat ? "flat_out" : "pool_out"));
    if (!both) net.graph.replace_output(relu, net.id(flat ? "flat_out" : "pool_out"));
    return net.graph;
  };
  EXPECT_EQ(collect_with(pooled(true, false)).outputs, Outputs::kVectors);
  EXPECT_EQ(collect_with(pooled(false, false)).outputs, Outputs::kVectors);  // [N, 3, 1, 1]
  EXPECT_EQ(collect_with(pooled(true, true)).outputs, Outputs::kMaps);
}

TEST_F(CollectTest, TellsAConcatenationFromItsParts) {
  const auto graph_with = [](std::int64_t axis) {
    Net net;
    net.input("image", {1, 3, kCollectedSide, kCollectedSide});
    const auto first = net.op("Relu", "first", {net.conv("conv", "image", 3)});
    net.op("Concat", "both", {first, "image"}, {{"axis", axis}});
    net.graph.add_output(*net.graph.find_value("both_out"));
    return net.graph;
  };
  options_.tensors = {"both_out", "first_out", "image"};
  const Collection derived = collect_with(graph_with(1));
  const Collection observed = collect_with(graph_with(-3));  // the same axis, but not recognized
  for (std::size_t i = 0; i < 3; ++i) {
    const Statistics& a = derived.tensors[i].statistics;
    const Statistics& b = observed.tensors[i].statistics;
    EXPECT_EQ(derived.tensors[i].tensor, observed.tensors[i].tensor);
    EXPECT_EQ(a.histogram(), b.histogram());
    EXPECT_EQ(a.image_extremes(), b.image_extremes());
    EXPECT_EQ(a.mean(), b.mean());
    EXPECT_NEAR(a.standard_deviation(), b.standard_deviation(), 1e-12 * b.standard_deviation());
    ASSERT_EQ(a.channels(), b.channels());
    for (std::int64_t c = 0; c < a.channels(); ++c) {
      EXPECT_EQ(a.channel_mean(c), b.channel_mean(c));
      EXPECT_EQ(a.channel_min(c), b.channel_min(c));
      EXPECT_EQ(a.channel_max(c), b.channel_max(c));
    }
  }
  EXPECT_EQ(derived.tensors[2].statistics.channels(), 6);
}

TEST_F(CollectTest, CopiesTheFingerprintItIsGiven) {
  options_.model_fingerprint = 77;
  EXPECT_EQ(collect_with(small_net()).model_fingerprint, 77U);
}

TEST_F(CollectTest, SeesThePreprocessedPixels) {
  const Collection collection = collect_with(small_net());
  Statistics expected;
  for (const ImageEntry& entry : images().entries) {
    const Tensor input = preprocess_image(load_image(entry.path), options_.preprocess);
    expected.observe(input);
  }
  EXPECT_EQ(collection.tensors[0].statistics, expected);
}

TEST_F(CollectTest, DoesNotDependOnThreadsOrTheOrderOfImages) {
  const Executor executor(small_net());
  const Collection one = collect(executor, images(), options_);
  ImageSet reversed = images();
  std::reverse(reversed.entries.begin(), reversed.entries.end());
  EXPECT_EQ(collect(executor, reversed, options_).tensors, one.tensors);
  for (const int threads : {2, 3, 16}) {
    options_.threads = threads;
    EXPECT_EQ(collect(executor, images(), options_).tensors, one.tensors) << threads;
  }
}

TEST_F(CollectTest, LeavesOutBadImagesOrStopsAtThem) {
  const Collection clean = collect_with(small_net());
  write_file(folder_.path() / "5b.jpg", "not an image");
  options_.threads = 2;
  const Collection collection = collect_with(small_net());
  EXPECT_EQ(collection.tensors, clean.tensors);
  ASSERT_EQ(collection.bad.size(), 1U);
  EXPECT_EQ(collection.bad[0].path.filename(), "5b.jpg");
  options_.bad_images = BadImages::kFail;
  EXPECT_NE(refusal(small_net(), ErrorCode::kInvalidImage).find("5b.jpg"), std::string::npos);
}

TEST_F(CollectTest, RefusesASetWithoutAUsableImage) {
  for (const ImageEntry& entry : images().entries) write_file(entry.path, "P6 broken");
  EXPECT_NE(refusal(small_net(), ErrorCode::kInvalidImage).find("none of 9"), std::string::npos);
}

TEST_F(CollectTest, RefusesASizeThatTheModelDoesNotDeclare) {
  options_.preprocess = preprocess_preset("imagenet");
  const std::string message = refusal(small_net(), ErrorCode::kMismatch);
  EXPECT_NE(message.find("[1, 3, 224, 224]"), std::string::npos) << message;
  EXPECT_NE(message.find("[1, 3, 8, 8]"), std::string::npos) << message;
}

TEST_F(CollectTest, TakesImagesOfDifferentSizesWhereTheModelDoes) {
  Net net;
  net.input("image", {1, 3, 1, 1});
  net.graph.declare(*net.graph.find_value("image"), DType::kFloat32,
                    std::vector<Dim>{{1, {}}, {3, {}}, {std::nullopt, "H"}, {std::nullopt, "W"}});
  net.op("Relu", "relu", {net.conv("conv", "image", 3)});
  net.graph.add_output(*net.graph.find_value("relu_out"));
  folder_.add("large.ppm", 1, 13);
  const Collection collection = collect_with(net.graph);
  EXPECT_EQ(collection.tensors[1].statistics.count(),
            3 * (9 * kCollectedSide * kCollectedSide + 13 * 13));
  // The smallest image, which comes last, gives a vector. The other images give maps, so the
  // outputs count as maps.
  folder_.add("z.ppm", 2, 1);
  EXPECT_EQ(collect_with(net.graph).outputs, Outputs::kMaps);
}

TEST_F(CollectTest, CountsMoreOfEachImageWhereImagesAreFew) {
  constexpr std::int64_t kLarge = 200;
  Net net;
  net.input("image", {1, 3, kLarge, kLarge});
  net.op("Relu", "relu", {"image"});
  net.graph.add_output(net.id("relu_out"));
  options_.tensors = {"image"};
  const auto counted = [&](int count) {
    for (int image = 0; image < count; ++image) folder_.add(to_text(image, ".ppm"), image, kLarge);
    const Statistics statistics = collect_with(net.graph).tensors[0].statistics;
    EXPECT_EQ(statistics.count(), count * 3 * kLarge * kLarge);
    EXPECT_EQ(statistics.images(), count);
    return statistics.histogram().count();
  };
  EXPECT_EQ(counted(9), 9 * 3 * kLarge * kLarge);
  const std::int64_t sampled = counted(70);
  EXPECT_LE(sampled, Counting::kTogether);
  EXPECT_GT(sampled, Counting::kTogether / 2);
  options_.exact_bins = 2048;
  EXPECT_EQ(counted(70), 70 * 3 * kLarge * kLarge);
}

// The choice of the counted values must not depend on their last bits, which differ between
// machines.
TEST_F(CollectTest, CountsTheSamePlacesWhateverTheLastBits) {
  constexpr std::int64_t kLarge = 200;
  for (int image = 0; image < 70; ++image) folder_.add(to_text(image, ".ppm"), image, kLarge);
  options_.tensors = {"relu_out"};
  const auto zeros_counted = [&](float factor) {
    Net net;
    net.input("image", {1, 3, kLarge, kLarge});
    Tensor by(DType::kFloat32, Shape{1, 1, 1, 1});
    by.values<float>()[0] = factor;
    net.constant("by", std::move(by));
    net.op("Relu", "relu", {net.op("Mul", "mul", {"image", "by"})});
    net.graph.add_output(net.id("relu_out"));
    const FloatHistogram histogram = collect_with(net.graph).tensors[0].statistics.histogram();
    EXPECT_LT(histogram.count(), 70 * 3 * kLarge * kLarge);
    return histogram.zeros();
  };
  EXPECT_EQ(zeros_counted(1.0F), zeros_counted(1.0F + 0x1p-20F));
}

TEST_F(CollectTest, CountsDifferentPlacesOfDifferentImages) {
  constexpr std::int64_t kLarge = 200;
  // One bright pixel at the same position of every image is counted in some of them.
  for (int image = 0; image < 130; ++image) {
    std::string bytes = to_text("P6\n", kLarge, " ", kLarge, "\n255\n");
    bytes.resize(bytes.size() + kLarge * kLarge * 3, '\x80');
    bytes[bytes.size() - static_cast<std::size_t>(kLarge * 300)] = '\xff';
    bytes.back() = static_cast<char>(image);
    write_file(folder_.path() / to_text(image, ".ppm"), bytes);
  }
  Net net;
  net.input("image", {1, 3, kLarge, kLarge});
  net.op("Relu", "relu", {"image"});
  net.graph.add_output(net.id("relu_out"));
  options_.tensors = {"image"};
  options_.preprocess.mean = {0.0F};
  const Statistics statistics = collect_with(net.graph).tensors[0].statistics;
  const std::int64_t bright = statistics.magnitudes(10).counts[9];
  EXPECT_GT(bright, 5);
  EXPECT_LT(bright, 100);
}

TEST_F(CollectTest, DoubtsAnImageAloneAndCopiesOfOne) {
  EXPECT_EQ(doubtful(collect_with(small_net())), std::nullopt);
  for (int image = 0; image < 9; ++image) folder_.add(to_text(image, ".ppm"), 5);
  const std::optional<std::string> copies = doubtful(collect_with(small_net()));
  ASSERT_TRUE(copies.has_value());
  EXPECT_NE(copies->find("9 images"), std::string::npos) << *copies;
  for (int image = 1; image < 9; ++image) fs::remove(folder_.path() / to_text(image, ".ppm"));
  const std::optional<std::string> one = doubtful(collect_with(small_net()));
  ASSERT_TRUE(one.has_value());
  EXPECT_NE(one->find("one image"), std::string::npos) << *one;
}

TEST_F(CollectTest, RefusesModelsThatDoNotTakeOneImage) {
  EXPECT_NE(refusal(small_net({4, {}}), ErrorCode::kUnsupported).find("batch 4"),
            std::string::npos);
  Graph two = small_net();
  two.add_input(two.add_value("extra"));
  EXPECT_NE(refusal(two, ErrorCode::kUnsupported).find("2 inputs"), std::string::npos);
  Graph integer = small_net();
  integer.declare(*integer.find_value("image"), DType::kUInt8, std::nullopt);
  EXPECT_NE(refusal(integer, ErrorCode::kUnsupported).find("uint8"), std::string::npos);
  Graph flat = small_net();
  flat.declare(*flat.find_value("image"), DType::kFloat32, std::vector<Dim>(2));
  EXPECT_NE(refusal(flat, ErrorCode::kUnsupported).find("rank 2"), std::string::npos);
}

TEST_F(CollectTest, NamesTheNearestActivationForAnUnknownName) {
  options_.tensors = {"relu_ot"};
  EXPECT_NE(refusal(small_net(), ErrorCode::kUsage).find("'relu_out'"), std::string::npos);
  options_.tensors = {"conv_w"};  // a constant, which is no activation
  EXPECT_NE(refusal(small_net(), ErrorCode::kUsage).find("conv_w"), std::string::npos);
  options_.tensors.clear();
  EXPECT_NE(refusal(small_net(), ErrorCode::kUsage).find("no tensor"), std::string::npos);
}

TEST_F(CollectTest, NamesImageAndNodeOfAValueThatIsNotFinite) {
  Net net;
  net.input("image", {1, 3, kCollectedSide, kCollectedSide});
  net.op("Log", "log", {net.op("Relu", "relu", {"image"})});
  net.graph.add_output(*net.graph.find_value("log_out"));
  options_.tensors = {"log_out"};
  const std::string message = refusal(net.graph, ErrorCode::kInvalidArgument);
  EXPECT_NE(message.find("0.ppm"), std::string::npos) << message;
  EXPECT_NE(message.find("node 'log'"), std::string::npos) << message;
  EXPECT_NE(message.find("inf"), std::string::npos) << message;
}

TEST_F(CollectTest, ReportsProgressAndStopsWhenAsked) {
  std::vector<std::int64_t> seen;
  options_.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 9);
    seen.push_back(done);
    return ProgressAnswer::kContinue;
  };
  static_cast<void>(collect_with(small_net()));
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  options_.progress = [](std::int64_t done, std::int64_t) {
    return done == 3 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  EXPECT_NE(refusal(small_net(), ErrorCode::kCancelled).find("3 of 9"), std::string::npos);
}

TEST_F(CollectTest, FillsATableThatReadsBack) {
  CalibrateOptions options;
  options.collect = options_;
  for (const MethodInfo& method : methods()) {
    options.method = method.name;
    const CalibrationResult result = calibrate(Executor(small_net()), images(), options);
    EXPECT_EQ(result.table.method, method.name);
    EXPECT_EQ(result.table.image_count, 9);
    EXPECT_EQ(read_table(write_table(result.table)), result.table);
    const ActivationEntry* relu = result.table.find("relu_out");
    ASSERT_NE(relu, nullptr);
    EXPECT_EQ(relu->affine.zero_point, 0);  // nothing is negative after Relu
    EXPECT_EQ(relu->dtype, DType::kUInt8);
    EXPECT_GT(relu->sqnr_db.value_or(0.0), 30.0);
    EXPECT_EQ(relu->observed.channel_means.size(), 3U);
    EXPECT_GT(result.table.find("image")->affine.zero_point, 0);
    EXPECT_EQ(decide(result.collection, method.name, MethodOptions(), 3).activations,
              result.table.activations);
  }
  options.method = "kll";
  EXPECT_THROW(static_cast<void>(calibrate(Executor(small_net()), images(), options)), Error);
}

TEST(Decide, FlagsDegenerateTensors) {
  const auto entry_of = [](std::initializer_list<float> values) {
    Collection collection;
    collection.tensors.resize(1);
    if (values.size() > 0) {
      const auto tensor = Tensor::of<float>({1, static_cast<std::int64_t>(values.size())}, values);
      collection.tensors[0].statistics.observe(tensor);
    }
    return decide(collection, "kl", MethodOptions()).activations[0];
  };
  EXPECT_EQ(entry_of({}).degenerate, Degenerate::kEmpty);
  EXPECT_EQ(entry_of({0.0F, 0.0F}).degenerate, Degenerate::kAllZero);
  EXPECT_EQ(entry_of({2e-38F, 0.0F}).degenerate, Degenerate::kTooSmall);
  EXPECT_EQ(entry_of({2e-38F, 0.0F}).affine, (Affine{1.0F, 0}));
  EXPECT_EQ(entry_of({0.0F, 0.0F}).affine, (Affine{1.0F, 0}));
  EXPECT_EQ(entry_of({1.0F, 0.0F}).degenerate, Degenerate::kNo);
  EXPECT_EQ(entry_of({}).sqnr_db, std::nullopt);
}

}  // namespace
}  // namespace qtool
