// Whether the pairs of weights are limited.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/quantize/quantize.h"
#include "quantize/weights/weight_pairs.h"
#include "support/image_folder.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kPairSide = 8;

/// Two convolutions, the second with these weights.
Graph one_layer(const std::vector<float>& weights, std::int64_t channels = 1) {
  const std::int64_t depth = std::ssize(weights) / channels;
  Net net;
  net.input("image", {1, 3, kPairSide, kPairSide});
  net.constant("a_w", random_floats({depth, 3, 1, 1}, 1));
  net.constant("b_w", Tensor::of<float>(Shape{channels, depth, 1, 1}, weights));
  net.op("Conv", "a", {"image", "a_w"});
  net.op("Relu", "a_relu", {"a_out"});
  net.output(net.op("Conv", "b", {"a_relu_out", "b_w"}));
  return prepare(std::move(net.graph));
}

/// Weights of which one pair is beyond the limit by little, and no other.
std::vector<float> cheap_weights() {
  std::vector<float> weights(16);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 2 == 0 ? 0.4F : -0.3F;
  weights[0] = 1.0F;
  weights[1] = 0.02F;
  return weights;
}

/// A layer whose weights are all nearly as large as the largest, so that every pair is beyond the
/// limit. They differ, so that no scale suits them all. Pairs have both signs, so that the results
/// stay small and are rounded finely.
Graph dear_layer() {
  std::vector<float> weights;
  for (std::size_t i = 0; i < 1024; ++i) {
    const float size = 1.0F - 0.3F * std::fmod(0.618034F * static_cast<float>(i), 1.0F);
    weights.push_back(i / 2 % 2 == 0 ? size : -size);
  }
  return one_layer(weights, 16);
}

class ChoosePairs : public testing::Test {
 protected:
  ChoosePairs() {
    options_.method = "minmax";
    options_.collect.preprocess.mean = {127.5F};
    options_.collect.preprocess.std = {64.0F};
  }
  [[nodiscard]] CalibrationResult calibrated(const Executor& fp32) const {
    return calibrate(fp32, folder_.list(), options_);
  }
  /// Pairs that saturate in the model that quantize() makes from a table, without any option.
  [[nodiscard]] static std::int64_t saturating(const Executor& fp32, const CalibrationTable& table,
                                               const std::string& target = "cpu") {
    StaticOptions options;
    options.target = target;
    return quantize(fp32.graph(), table, options).report.saturating_pairs;
  }

  ImageFolder folder_{kPairSide, 6};
  CalibrateOptions options_;
};

TEST_F(ChoosePairs, LimitsThemWhereThatCostsLittle) {
  const Executor fp32(one_layer(cheap_weights()));
  const CalibrationResult result = calibrated(fp32);
  ASSERT_TRUE(result.pairs);
  EXPECT_GT(result.pairs->saturating_pairs, 0);
  EXPECT_LE(result.pairs->cost_db, kMostPairCostDb);
  EXPECT_TRUE(result.pairs->is_limited);
  EXPECT_EQ(result.pairs->samples, 6);
  ASSERT_TRUE(result.pairs->interval);
  EXPECT_LE(result.pairs->interval->low, result.pairs->cost_db);
  EXPECT_GE(result.pairs->interval->high, result.pairs->cost_db);
  EXPECT_EQ(result.table.types.weight_pairs, WeightPairs::kLimited);
  EXPECT_EQ(saturating(fp32, result.table), 0);
}

TEST_F(ChoosePairs, LeavesThemFreeWhereThatCostsMuch) {
  const Executor fp32(dear_layer());
  const CalibrationResult result = calibrated(fp32);
  ASSERT_TRUE(result.pairs);
  EXPECT_GT(result.pairs->cost_db, kMostPairCostDb);
  EXPECT_FALSE(result.pairs->is_limited);
  EXPECT_FALSE(result.table.types.weight_pairs);
  EXPECT_EQ(saturating(fp32, result.table), result.pairs->saturating_pairs);
}

// The interval says how sure the choice is.
TEST_F(ChoosePairs, ComparesNoMoreImagesThanItNeeds) {
  const ImageFolder many(kPairSide, 40);
  const Executor cheap(one_layer(cheap_weights()));
  const CalibrationResult sure = calibrate(cheap, many.list(), options_);
  ASSERT_TRUE(sure.pairs && sure.pairs->interval);
  EXPECT_EQ(sure.pairs->samples, 8);
  EXPECT_LE(sure.pairs->interval->high, kMostPairCostDb);
  const Executor dear(dear_layer());
  const CalibrationResult unsure = calibrate(dear, many.list(), options_);
  ASSERT_TRUE(unsure.pairs && unsure.pairs->interval);
  EXPECT_EQ(unsure.pairs->samples, 16);
  const ImageFolder few(kPairSide, 4);
  const CalibrationResult unknown = calibrate(dear, few.list(), options_);
  ASSERT_TRUE(unknown.pairs);
  EXPECT_EQ(unknown.pairs->samples, 4);
  EXPECT_FALSE(unknown.pairs->interval);
}

TEST_F(ChoosePairs, DoesWhatTheUserSays) {
  const Executor fp32(dear_layer());
  options_.types.weight_pairs = WeightPairs::kLimited;
  const CalibrationResult limited = calibrated(fp32);
  EXPECT_FALSE(limited.pairs);  // nothing was measured
  EXPECT_EQ(saturating(fp32, limited.table), 0);
  const Executor other(one_layer(cheap_weights()));
  options_.types.weight_pairs = WeightPairs::kFree;
  const CalibrationResult free = calibrated(other);
  EXPECT_FALSE(free.pairs);
  EXPECT_GT(saturating(other, free.table), 0);
}

TEST_F(ChoosePairs, ConcernsOnlyBackEndsWhoseSumsSaturate) {
  const Executor fp32(one_layer(cheap_weights()));
  options_.target = "qtool";
  const CalibrationResult result = calibrated(fp32);
  EXPECT_FALSE(result.pairs);
  EXPECT_EQ(saturating(fp32, result.table, "qtool"), 0);
  options_.target = "cpu";
  options_.types.weight_bits = 7;
  EXPECT_FALSE(calibrated(fp32).pairs);
}

// The scales of a table for `cpu` are raised, which `qtool` does not need.
TEST_F(ChoosePairs, DoesNotBindOtherTargets) {
  const Executor fp32(one_layer(cheap_weights()));
  const CalibrationTable limited = calibrated(fp32).table;
  options_.types.weight_pairs = WeightPairs::kFree;
  const CalibrationTable free = calibrated(fp32).table;
  StaticOptions qtool;
  qtool.target = "qtool";
  const auto weights_of = [&](const CalibrationTable& table) {
    Graph graph = quantize(fp32.graph(), table, qtool).graph;
    graph.info.metadata.clear();
    return save_onnx_bytes(graph);
  };
  EXPECT_EQ(weights_of(limited), weights_of(free));
}

TEST_F(ChoosePairs, AreCountedInTheModelAsItWasWritten) {
  const Executor fp32(dear_layer());
  const CalibrationTable table = calibrated(fp32).table;
  for (const ModelForm form : {ModelForm::kQdq, ModelForm::kQOperator}) {
    StaticOptions options;
    options.form = form;
    const Quantized made = quantize(fp32.graph(), table, options);
    const Graph read = prepare(load_onnx_bytes(save_onnx_bytes(made.graph), {}, "model"));
    EXPECT_GT(made.report.saturating_pairs, 0);
    EXPECT_EQ(count_large_pairs(read, find_target("cpu"), 128), made.report.saturating_pairs);
    EXPECT_EQ(count_large_pairs(read, find_target("qtool"), 128), 0);
  }
}

TEST_F(ChoosePairs, AreCheckedWhereAModelSaysThatTheyAreLimited) {
  const Executor fp32(dear_layer());
  const CalibrationTable table = calibrated(fp32).table;
  const auto faults_of = [&](WeightPairs pairs, bool says_limited) {
    StaticOptions options;
    options.types.weight_pairs = pairs;
    Graph graph = quantize(fp32.graph(), table, options).graph;
    if (says_limited) graph.info.metadata[std::string(kPairsKey)] = "128";
    const Executor int8(prepare(load_onnx_bytes(save_onnx_bytes(graph), {}, "model")));
    EvalOptions eval;
    eval.preprocess = options_.collect.preprocess;
    return verify(fp32, int8, folder_.list(), eval, 0.0).faults;
  };
  EXPECT_THAT(faults_of(WeightPairs::kLimited, false), testing::IsEmpty());
  EXPECT_THAT(faults_of(WeightPairs::kFree, false), testing::IsEmpty());
  EXPECT_THAT(faults_of(WeightPairs::kFree, true),
              testing::ElementsAre(testing::HasSubstr("may saturate, although")));
}

// The limit depends on the largest activation, so verify() takes it from the model.
TEST_F(ChoosePairs, AreCheckedAgainstTheLimitOfTheirActivations) {
  const Executor fp32(dear_layer());
  for (const DType dtype : {DType::kUInt8, DType::kInt8}) {
    CalibrateOptions calibrates = options_;
    calibrates.types.weight_pairs = WeightPairs::kLimited;
    calibrates.types.activation_bits = 7;
    calibrates.types.activation_dtype = dtype;
    const CalibrationTable table = calibrate(fp32, folder_.list(), calibrates).table;
    const Graph graph = quantize(fp32.graph(), table, StaticOptions()).graph;
    const Executor int8(prepare(load_onnx_bytes(save_onnx_bytes(graph), {}, "model")));
    EXPECT_GT(count_large_pairs(int8.graph(), find_target("cpu"), 128), 0);
    EvalOptions eval;
    eval.preprocess = options_.collect.preprocess;
    EXPECT_THAT(verify(fp32, int8, folder_.list(), eval, 0.0).faults, testing::IsEmpty());
  }
}

// Its scales were not raised, so the table must not say so.
TEST_F(ChoosePairs, AreNotInATableForAnotherTarget) {
  const Executor fp32(one_layer(cheap_weights()));
  options_.target = "qtool";
  options_.types.weight_pairs = WeightPairs::kLimited;
  EXPECT_FALSE(calibrated(fp32).table.types.weight_pairs);
}

// ONNX Runtime multiplies the matrices of dynamic models with that instruction, but not their
// convolutions.
TEST_F(ChoosePairs, OfMatricesCanBeLimitedInDynamicMode) {
  Net net;
  net.input("x", {1, 16});
  Tensor weights(DType::kFloat32, Shape{16, 4});
  for (float& w : weights.values<float>()) w = 1.0F;
  net.constant("w", std::move(weights));
  net.output(net.op("MatMul", "product", {"x", "w"}));
  const Graph graph = prepare(std::move(net.graph));
  DynamicOptions options;
  EXPECT_EQ(quantize(graph, options).report.saturating_pairs, 32);
  options.weights.pairs = WeightPairs::kLimited;
  EXPECT_EQ(quantize(graph, options).report.saturating_pairs, 0);
  EXPECT_EQ(quantize(graph, WeightOnlyOptions()).report.saturating_pairs, 0);
  EXPECT_EQ(quantize(dear_layer(), DynamicOptions()).report.saturating_pairs, 0);
}

// Rounding on images moves weights, and the limit holds for what it makes.
TEST_F(ChoosePairs, HoldsForWeightsRoundedOnImages) {
  const Executor fp32(one_layer(cheap_weights()));
  for (const char* rounding : {"gptq", "adaround"}) {
    Recipe recipe;
    recipe.method = "minmax";
    recipe.rounding = rounding;
    recipe.types.weight_pairs = WeightPairs::kLimited;
    MakeOptions make;
    make.preprocess = options_.collect.preprocess;
    const MadeModel made = make_model(fp32, recipe, folder_.list(), make);
    EXPECT_EQ(made.int8.report.saturating_pairs, 0) << rounding;
    EXPECT_TRUE(made.int8.report.nearest_layers.empty()) << rounding;
  }
}

}  // namespace
}  // namespace qtool
