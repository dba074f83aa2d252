#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>

#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/calibrate.h"
#include "quantize/placement.h"
#include "support/image_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kSide = 8;
constexpr std::int64_t kImages = 6;

Tensor drawn(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.1F, 0.4F);
  Tensor tensor(DType::kFloat32, shape);
  for (float& v : tensor.values<float>()) v = normal(random);
  return tensor;
}

/// Two branches behind a convolution, their sum, and a matrix product without a bias port.
Graph network() {
  Net net;
  net.input("image", {1, 3, kSide, kSide});
  net.constant("stem_w", drawn(Shape{4, 3, 3, 3}, 1));
  net.constant("left_w", drawn(Shape{4, 4, 3, 3}, 2));
  net.constant("right_w", drawn(Shape{4, 4, 1, 1}, 3));
  net.constant("right_b", drawn(Shape{4}, 4));
  net.constant("last_w", drawn(Shape{4, 5}, 5));
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
    return sequential_bias_shifts(executor_, table_, options_, images(), collect_);
  }
  /// The largest difference of the mean of an output channel of `tensor` from FP32.
  [[nodiscard]] double deviation(const Graph& int8, const std::string& tensor) const {
    CollectOptions options = collect_;
    options.tensors = {tensor};
    const Executor quantized(int8);
    const Statistics a = collect(executor_, images(), options).tensors[0].statistics;
    const Statistics b = collect(quantized, images(), options).tensors[0].statistics;
    double largest = 0.0;
    for (std::int64_t c = 0; c < a.channels(); ++c) {
      largest = std::max(largest, std::abs(a.channel_mean(c) - b.channel_mean(c)));
    }
    return largest;
  }
  [[nodiscard]] Graph quantized(const StaticOptions& options) {
    Quantized quantized = quantize(executor_.graph(), table_, options);
    report_ = std::move(quantized.report);
    return std::move(quantized.graph);
  }

  const ImageFolder folder_{kSide, kImages};
  Executor executor_{network()};
  CollectOptions collect_;
  CalibrationTable table_;
  StaticOptions options_;
  QuantizeReport report_;
};

TEST_F(SequentialCorrectionTest, MakesTheMeanOfEveryLayerThatOfFp32) {
  StaticOptions off = options_;
  off.bias_correction = BiasCorrection::kOff;
  const Graph before = quantized(off);
  options_.bias_shifts = shifts();
  const Graph after = quantized(options_);
  for (const std::string tensor : {"stem_out", "left_out", "right_out"}) {
    EXPECT_GT(deviation(before, tensor), 0.01) << tensor;
    // What is left: the bias is a whole number of s_x s_w, here below 0.01.
    EXPECT_LT(deviation(after, tensor), 0.005) << tensor;
  }
  EXPECT_EQ(report_.corrected_biases, 3);
  EXPECT_THAT(report_.uncorrected_layers, testing::ElementsAre("last"));
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
  // FP32, the stem, and both branches at once.
  EXPECT_EQ(all, 3 * kImages);
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

TEST_F(SequentialCorrectionTest, RefusesShiftsOfAnotherLayer) {
  options_.bias_shifts["left"] = {1.0};
  EXPECT_THROW(static_cast<void>(quantized(options_)), Error);
}

}  // namespace
}  // namespace qtool
