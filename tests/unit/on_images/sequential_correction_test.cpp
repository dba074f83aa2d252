#include "on_images/sequential_correction.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "on_images/masked_shift.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "quantize/placement/placement.h"
#include "support/image_folder.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kCorrectedSide = 8;
constexpr std::int64_t kImages = 6;

Tensor shifted_floats(const Shape& shape, unsigned seed) {
  return normal_floats(shape, seed, 0.1F, 0.4F);
}

/// Two branches after a convolution, their sum, and a matrix product without a bias port.
Graph corrected_network() {
  Net net;
  net.input("image", {1, 3, kCorrectedSide, kCorrectedSide});
  net.constant("stem_w", shifted_floats(Shape{4, 3, 3, 3}, 1));
  net.constant("left_w", shifted_floats(Shape{4, 4, 3, 3}, 2));
  net.constant("right_w", shifted_floats(Shape{4, 4, 1, 1}, 3));
  net.constant("right_b", shifted_floats(Shape{4}, 4));
  net.constant("last_w", shifted_floats(Shape{4, 5}, 5));
  const std::vector<std::int64_t> one(4, 1);
  net.op("Conv", "stem", {"image", "stem_w"}, {{"pads", one}});
  net.op("Relu", "relu", {"stem_out"});
  net.op("Conv", "left", {"relu_out", "left_w"}, {{"pads", one}});
  net.op("Conv", "right", {"relu_out", "right_w", "right_b"});
  net.op("Add", "add", {"left_out", "right_out"});
  net.op("GlobalAveragePool", "pool", {"add_out"});
  net.op("Flatten", "flat", {"pool_out"});
  net.op("MatMul", "last", {"flat_out", "last_w"});
  net.graph.add_output(net.id("last_out"));
  return net.graph;
}

class SequentialCorrectionTest : public testing::Test {
 protected:
  SequentialCorrectionTest() {
    collect_.preprocess.mean = {127.5F};
    collect_.preprocess.std = {64.0F};
    collect_.threads = 1;
    CalibrateOptions calibrate_options;
    calibrate_options.collect = collect_;
    calibrate_options.collect.tensors = tensors_to_calibrate(executor_.graph(), find_target("cpu"));
    calibrate_options.method = "minmax";
    table_ = calibrate(executor_, images(), calibrate_options).table;
    options_.types.weight_bits = 4;  // coarse weights: there is something to correct
    options_.bias_correction = BiasCorrection::kSequential;
  }

  [[nodiscard]] ImageSet images() const { return folder_.list(); }
  [[nodiscard]] BiasShifts shifts() const {
    return sequential_bias_shifts(executor_, table_, options_, {}, images(), collect_).shifts;
  }
  /// The values of `tensor` on all images, [image][channel][pixel].
  [[nodiscard]] std::vector<float> values_of(const Graph& graph, const std::string& tensor) const {
    Graph cut = graph;
    const ValueId id = cut.find_value(tensor).value();
    cut.replace_output(cut.outputs()[0], id);
    const Executor executor(std::move(cut));
    std::vector<float> all;
    std::vector<BadImage> bad;
    for (const ImageEntry& entry : images().entries) {
      const auto image = load_preprocessed(entry, collect_.preprocess, BadImages::kFail, bad);
      const TensorView view(*image);
      Workspace workspace;
      const auto values = executor.compile({})->run({&view, 1}, workspace)[0].values<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  /// The largest difference between a channel mean of `tensor`, which has four channels, and that
  /// mean in FP32, over positions where FP32 exceeds `above`.
  [[nodiscard]] double deviation(const Graph& int8, const std::string& tensor, float above) const {
    constexpr std::size_t kPixels = kCorrectedSide * kCorrectedSide;
    const std::vector<float> a = values_of(executor_.graph(), tensor);
    const std::vector<float> b = values_of(int8, tensor);
    std::array<double, 4> sums{};
    std::array<double, 4> counts{};
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(a[i] > above)) continue;
      sums[i / kPixels % 4] += double{b[i]} - a[i];
      counts[i / kPixels % 4] += 1.0;
    }
    double largest = 0.0;
    for (std::size_t c = 0; c < 4; ++c) largest = std::max(largest, std::abs(sums[c] / counts[c]));
    return largest;
  }
  [[nodiscard]] Graph quantized(const StaticOptions& options) {
    Quantized quantized = quantize(executor_.graph(), table_, options, learned_);
    report_ = std::move(quantized.report);
    return std::move(quantized.graph);
  }

  const ImageFolder folder_{kCorrectedSide, kImages};
  Executor executor_{corrected_network()};
  CollectOptions collect_;
  CalibrationTable table_;
  StaticOptions options_;
  Learned learned_;
  QuantizeReport report_;
};

TEST_F(SequentialCorrectionTest, BringsTheMeanOfEveryLayerToThatOfFp32WhereItsActivationPasses) {
  StaticOptions off = options_;
  off.bias_correction = BiasCorrection::kOff;
  const Graph before = quantized(off);
  learned_.bias_shifts = shifts();
  const Graph after = quantized(options_);
  constexpr float kEverything = -std::numeric_limits<float>::infinity();
  const std::map<std::string, float> layers = {
      {"stem_out", 0.0F}, {"left_out", kEverything}, {"right_out", kEverything}};
  for (const auto& [tensor, above] : layers) {
    const double was = deviation(before, tensor, above);
    EXPECT_GT(was, 0.01) << tensor;
    // The remaining difference is a share of 50 / (positions + 50), here below 0.3, and the
    // rounding of the bias to a whole number of s_x s_w.
    EXPECT_LT(deviation(after, tensor, above), 0.3 * was + 0.002) << tensor;
  }
  EXPECT_EQ(report_.corrected_biases, 3);
  EXPECT_THAT(report_.uncorrected_layers, testing::ElementsAre("last"));
}

// In FP32 y = x; in the other graph y = x + 0.5 where x > 0, and 3 x + 0.5 elsewhere. Half of the
// 64 pixels of the image are positive.
TEST_F(SequentialCorrectionTest, CountsOnlyWhatTheActivationPasses) {
  std::string bytes = to_text("P6\n", kCorrectedSide, " ", kCorrectedSide, "\n255\n");
  for (std::int64_t i = 0; i < kCorrectedSide * kCorrectedSide; ++i)
    bytes.append(3, i % 2 == 0 ? '\xff' : '\0');
  const ImageFolder folder(kCorrectedSide, 0);
  write_file(folder.path() / "half.ppm", bytes);
  const auto graph = [](float slope, float shift) {
    Net net;
    net.input("image", {1, 3, kCorrectedSide, kCorrectedSide});
    net.constant("shift", Tensor::scalar<float>(shift));
    const auto bent = net.op("LeakyRelu", "bent", {"image"}, {{"alpha", slope}});
    net.output(net.op("Add", "y", {bent, "shift"}));
    return net.graph;
  };
  const Graph network = graph(1.0F, 0.0F);
  NetworkByDepth fp32(1, {}, 0);
  NetworkByDepth other(1, {}, 0);
  fp32.go_to({network, {}, 1, {"y_out"}});
  other.go_to({graph(3.0F, 0.5F), {}, 1, {"y_out"}});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto shifts_below = [&](float below) {
    const std::vector<ComparedLayer> layers = {{"y_out", "y_out", 0.0F, below}};
    return masked_shifts(network, fp32, other, layers, folder.list(), collect_, [] {}).by_layer[0];
  };
  for (const double shift : shifts_below(kInfinity)) EXPECT_NEAR(shift, 0.5 * 32 / (32 + 50), 1e-6);
  for (const double shift : shifts_below(1.0F)) EXPECT_EQ(shift, 0.0);  // nothing passes
}

// If fewer images are used than were given, the caller must be told.
TEST_F(SequentialCorrectionTest, NotesTheImagesThatItLeavesOut) {
  const BiasShifts of_good = shifts();
  ImageSet with_bad = images();
  write_file(folder_.path() / "cut.ppm", "P6 8 8 255 ");
  with_bad.entries.insert(with_bad.entries.begin() + 2, {folder_.path() / "cut.ppm", -1});
  collect_.threads = 3;
  const ShiftsOnImages found =
      sequential_bias_shifts(executor_, table_, options_, {}, with_bad, collect_);
  ASSERT_THAT(found.bad, testing::SizeIs(1));
  EXPECT_EQ(found.bad.front().path.filename(), "cut.ppm");
  EXPECT_EQ(found.shifts, of_good);
}

TEST_F(SequentialCorrectionTest, RefusesImagesOfWhichNoneIsUsable) {
  const auto message_for = [&](const ImageSet& images) {
    try {
      static_cast<void>(sequential_bias_shifts(executor_, table_, options_, {}, images, collect_));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidImage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message_for({}), testing::HasSubstr("none of 0 images is usable"));
  write_file(folder_.path() / "cut.ppm", "P6 8 8 255 ");
  ImageSet bad = images();
  bad.entries = {{folder_.path() / "cut.ppm", -1}};
  EXPECT_THAT(message_for(bad), testing::HasSubstr("none of 1 images is usable"));
}

TEST_F(SequentialCorrectionTest, NamesImageAndTensorOfAValueThatIsNotFinite) {
  Net net;
  net.input("image", {1, 3, kCorrectedSide, kCorrectedSide});
  net.output(net.op("Sqrt", "root", {"image"}));  // of negative numbers too
  NetworkByDepth one(kImages, {}, 0);
  NetworkByDepth other(kImages, {}, 0);
  for (NetworkByDepth* network : {&one, &other}) network->go_to({net.graph, {}, 1, {"root_out"}});
  const std::vector<ComparedLayer> layers = {{"root_out", "root_out", 0.0F, 6.0F}};
  try {
    static_cast<void>(masked_shifts(net.graph, one, other, layers, images(), collect_, [] {}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("'root_out'"), testing::HasSubstr(".ppm'")));
  }
}

TEST_F(SequentialCorrectionTest, DoesNotDependOnThreads) {
  const BiasShifts one = shifts();
  collect_.threads = 3;
  options_.threads = 3;
  EXPECT_EQ(shifts(), one);
  EXPECT_EQ(one.size(), 3U);
  EXPECT_EQ(one.at("left").size(), 4U);
}

TEST_F(SequentialCorrectionTest, CountsItsProgressOverAllRuns) {
  std::int64_t last = 0;
  std::int64_t all = 0;
  collect_.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(done, last + 1);
    last = done;
    all = total;
    return ProgressAnswer::kContinue;
  };
  static_cast<void>(shifts());
  // One run for the stem, and one for both branches together.
  EXPECT_EQ(all, 2 * kImages);
  EXPECT_EQ(last, all);
}

TEST_F(SequentialCorrectionTest, StopsWhenAsked) {
  collect_.progress = [](std::int64_t done, std::int64_t) {
    return done > kImages ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  try {
    static_cast<void>(shifts());
    FAIL() << "nothing stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

// The tensors that are kept of an INT8 network are those behind QuantizeLinear, so that the layers
// which read them still run on integers.
TEST_F(SequentialCorrectionTest, IntegerNetworksGiveTheSameFromKeptTensors) {
  learned_.bias_shifts = shifts();
  const Graph int8 = quantized(options_);
  std::vector<NodeId> layers;
  for (const NodeId id : int8.nodes()) {
    if (int8.node(id).op_type == "Conv") layers.push_back(id);
  }
  ASSERT_EQ(layers.size(), 3U);
  const Shape shape{1, 3, kCorrectedSide, kCorrectedSide};
  const InputShapes shapes{{"image", shape}};
  std::vector<Tensor> inputs;
  inputs.push_back(normal_floats(shape, 7, 0.0F, 1.0F));
  NetworkByDepth keeping(1, shapes, 1 << 20);
  NetworkByDepth forgetting(1, shapes, 0);
  const auto results_of = [&](NetworkByDepth& network, const NetworkByDepth::Target& target,
                              bool needs_inputs) {
    std::vector<Tensor> results;
    Workspace workspace;
    network.go_to(target);
    EXPECT_EQ(network.needs_inputs(0), needs_inputs);
    const std::span<const Tensor> given =
        needs_inputs ? std::span<const Tensor>(inputs) : std::span<const Tensor>();
    network.run(0, given, shapes, workspace, [&](std::size_t, const TensorView& tensor) {
      results.push_back(to_tensor(tensor));
    });
    return results;
  };
  for (const auto& [depth, tensors] : std::map<std::int64_t, std::vector<std::string>>{
           {1, {"stem_out"}}, {2, {"left_out", "right_out"}}}) {
    const NetworkByDepth::Target target{int8, layers, depth, tensors};
    const std::vector<Tensor> kept = results_of(keeping, target, depth == 1);
    const std::vector<Tensor> whole = results_of(forgetting, target, true);
    // The bytes of the image are kept for depth 2, and nothing for the time after it.
    EXPECT_EQ(keeping.kept_bytes(), depth == 1 ? 3 * kCorrectedSide * kCorrectedSide : 0);
    ASSERT_EQ(kept.size(), tensors.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(identical(kept[i], whole.at(i)));
  }
}

TEST_F(SequentialCorrectionTest, RefusesShiftsOfAnotherLayer) {
  learned_.bias_shifts["left"] = {1.0};
  EXPECT_THROW(static_cast<void>(quantized(options_)), Error);
}

}  // namespace
}  // namespace qtool
