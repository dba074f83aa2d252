#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/code_of.h"
#include "support/image_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

/// Two convolutions on images of 8 x 8 pixels.
Graph two_layer_network() {
  Net net;
  const auto conv = [&](const std::string& name, const std::string& x, std::int64_t in) {
    Tensor weights(DType::kFloat32, Shape{4, in, 3, 3});
    std::mt19937 random(static_cast<unsigned>(in));
    std::normal_distribution<float> normal;
    for (float& w : weights.values<float>()) w = normal(random);
    return net.op("Conv", name, {x, net.constant(name + "_w", std::move(weights))});
  };
  const auto hidden = net.op("Relu", "relu", {conv("first", net.input("image", {1, 3, 8, 8}), 3)});
  net.output(conv("second", hidden, 4));
  return net.graph;
}

class CalibrationTest : public ::testing::Test {
 protected:
  CalibrationTest() {
    options_.collect.preprocess.mean = {127.5F};
    options_.collect.preprocess.std = {64.0F};
  }

  [[nodiscard]] ImageSet images() const { return folder_.list(); }

  const ImageFolder folder_{8, 3};
  Executor fp32_{two_layer_network()};
  CalibrateOptions options_;
};

TEST_F(CalibrationTest, MakesATableThatQuantizeNeedsNothingBeside) {
  options_.types.weight_bits = 4;
  options_.types.activation_dtype = DType::kInt8;
  const CalibrationResult calibrated = calibrate(fp32_, images(), options_);
  EXPECT_EQ(calibrated.collection.image_count, 3);
  EXPECT_EQ(calibrated.table.types, options_.types);
  ASSERT_EQ(calibrated.table.weights.size(), 2U);
  for (const WeightEntry& entry : calibrated.table.weights) EXPECT_EQ(entry.bits, 4);
  for (const ActivationEntry& entry : calibrated.table.activations) {
    EXPECT_EQ(entry.dtype, DType::kInt8) << entry.tensor;
  }

  const Quantized quantized = quantize(fp32_.graph(), calibrated.table);
  for (const char* name : {"first_w_q", "second_w_q"}) {
    const auto id = quantized.graph.find_value(name);
    ASSERT_TRUE(id) << name;
    const auto integers = quantized.graph.value(*id).constant->values<std::int8_t>();
    const auto [low, high] = std::minmax_element(integers.begin(), integers.end());
    EXPECT_EQ(std::max(-*low, +*high), 7) << name;
  }
}

TEST_F(CalibrationTest, ObservesWhatTheTargetWantsUnlessToldOtherwise) {
  EXPECT_EQ(Calibration(fp32_, options_).tensors(),
            tensors_to_calibrate(fp32_.graph(), find_target("cpu")));
  options_.overrides.exclude = {"second"};
  EXPECT_THAT(Calibration(fp32_, options_).tensors(), ::testing::Not(::testing::IsEmpty()));
  options_.collect.tensors = {"relu_out"};
  EXPECT_EQ(Calibration(fp32_, options_).tensors(), std::vector<std::string>{"relu_out"});
}

TEST_F(CalibrationTest, RefusesBeforeTheFirstImageWhatItCanKnow) {
  const auto refused = [&](const auto& change) {
    CalibrateOptions options;
    change(options);
    return code_of([&] { Calibration(fp32_, options); });
  };
  EXPECT_EQ(refused([](CalibrateOptions& o) { o.target = "cpuu"; }), ErrorCode::kUsage);
  EXPECT_EQ(refused([](CalibrateOptions& o) { o.method = "kll"; }), ErrorCode::kUsage);
  EXPECT_EQ(refused([](CalibrateOptions& o) { o.types.weight_bits = 9; }), ErrorCode::kUsage);
  EXPECT_EQ(refused([](CalibrateOptions& o) { o.overrides.exclude = {"nobody"}; }),
            ErrorCode::kUsage);
  EXPECT_EQ(refused([](CalibrateOptions& o) {
              o.overrides.ranges = {{"nothing", {0, 1}}};
            }),
            ErrorCode::kUsage);
}

TEST_F(CalibrationTest, DecidesAgainFromStatisticsThatKnowEveryTensor) {
  const Calibration calibration(fp32_, options_);
  Collection collection = calibration.collect(images());
  options_.method = "minmax";
  const Calibration other(fp32_, options_);
  EXPECT_EQ(other.decide(collection).method, "minmax");
  EXPECT_EQ(other.decide(collection), calibrate(fp32_, images(), options_).table);
  Collection foreign = collection;
  ++foreign.model_fingerprint;
  EXPECT_EQ(code_of([&] { static_cast<void>(other.decide(foreign)); }), ErrorCode::kMismatch);
  collection.tensors.pop_back();
  EXPECT_EQ(code_of([&] { static_cast<void>(other.decide(collection)); }), ErrorCode::kMismatch);
}

TEST_F(CalibrationTest, RoundingIsChosenByNameInEveryMode) {
  const CalibrationTable table = calibrate(fp32_, images(), options_).table;
  StaticOptions with_table;
  DynamicOptions dynamic;
  WeightOnlyOptions weight_only;
  with_table.rounding = dynamic.rounding = weight_only.rounding = "nearset";
  EXPECT_EQ(code_of([&] { quantize(fp32_.graph(), table, with_table); }), ErrorCode::kUsage);
  EXPECT_EQ(code_of([&] { quantize(fp32_.graph(), dynamic); }), ErrorCode::kUsage);
  EXPECT_EQ(code_of([&] { quantize(fp32_.graph(), weight_only); }), ErrorCode::kUsage);
  Net empty;  // nothing to round, and still refused
  empty.output(empty.op("Relu", "relu", {empty.input("x", {1, 2})}));
  EXPECT_EQ(code_of([&] { quantize(empty.graph, dynamic); }), ErrorCode::kUsage);
}

TEST_F(CalibrationTest, TypicalShapesFillOpenAxesWithOneImage) {
  Net net;
  net.input("fixed", {2, 3, 8, 8});
  net.graph.add_input(net.graph.add_value("unknown"));
  Preprocess preprocess;
  const InputShapes shapes = typical_shapes(net.graph, preprocess);
  EXPECT_EQ(shapes.at("fixed"), (Shape{2, 3, 8, 8}));
  EXPECT_EQ(shapes.at("unknown"), (Shape{1, 3, 224, 224}));
}

TEST_F(CalibrationTest, AModelOfFp32NodesGainsNothing) {
  Coverage coverage;
  QuantizeReport report;
  EXPECT_TRUE(gains_nothing(QuantizeMode::kStatic, coverage, report));
  coverage.macs = 10;
  report.weight_bytes = 10;
  EXPECT_TRUE(gains_nothing(QuantizeMode::kStatic, coverage, report));
  EXPECT_FALSE(gains_nothing(QuantizeMode::kWeightOnly, coverage, report));
  coverage.integer_macs = 1;
  EXPECT_FALSE(gains_nothing(QuantizeMode::kStatic, coverage, report));
}

}  // namespace
}  // namespace qtool
