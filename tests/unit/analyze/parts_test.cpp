// The results of analyze() besides the noise of tensors and weights: biases, the sum of all shares,
// accumulated errors, channels, histograms, confidence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analyze/accumulated_error.h"
#include "analyze/weight_channels.h"
#include "compare/intervals.h"
#include "compare/quantized_parts.h"
#include "compare/tensor_rounding.h"
#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "report/analysis.h"
#include "support/random_floats.h"
#include "unit/analyzed_network.h"
#include "unit/four_layers.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

class AnalyzePartsTest : public AnalyzedNetwork {
 protected:
  AnalyzePartsTest() : AnalyzedNetwork(four_layers(), kLayerSide) {}

  [[nodiscard]] Graph quantized() const { return quantize(fp32_.graph(), table_).graph; }
  /// The noise of a network that differs from the FP32 network only in its constants.
  [[nodiscard]] double noise_with(Graph changed) const {
    const Executor other(std::move(changed));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    const EvalResult result = evaluate(fp32_, &other, images(), eval);
    return std::pow(10.0, -result.outputs.at(0).pooled_sqnr_db / 10.0);
  }
};

const ErrorSource* find(const AnalyzeResult& result, SourceKind kind, const std::string& name) {
  const auto found = std::find_if(
      result.sources.begin(), result.sources.end(),
      [&](const ErrorSource& source) { return source.kind == kind && source.name == name; });
  return found == result.sources.end() ? nullptr : &*found;
}

// Brute force: FP32 networks with the weights of the INT8 model, without and with its biases.
TEST_F(AnalyzePartsTest, PartsTheNoiseOfABiasFromThatOfItsWeights) {
  const Graph emitted = quantized();
  const QuantizedParts parts = quantized_parts(fp32_.graph(), prepare(emitted));
  const AnalyzeResult result = analysis_of(emitted);
  std::int64_t compared = 0;
  for (const NodeId node : parts.weighted) {
    if (!parts.other_bias.contains(node) || !parts.other_weights.contains(node)) continue;
    ++compared;
    const Node& layer = fp32_.graph().node(node);
    Graph weights = fp32_.graph();
    weights.set_constant(layer.inputs[1], parts.with_weights.value(layer.inputs[1]).constant);
    Graph both = weights;
    both.set_constant(layer.inputs[2], parts.with_weights.value(layer.inputs[2]).constant);
    const ErrorSource* found = find(result, SourceKind::kWeights, layer.name);
    const ErrorSource* bias = find(result, SourceKind::kBias, layer.name);
    ASSERT_NE(found, nullptr) << layer.name;
    const double alone = noise_with(std::move(weights));
    const double together = noise_with(std::move(both));
    const double of_bias = bias == nullptr ? 0.0 : bias->noise;
    // The division between weights and bias is measured on the first images only.
    EXPECT_NEAR((found->noise + of_bias) / together, 1.0, 0.01) << layer.name;
    EXPECT_NEAR((found->noise + found->corrected) / alone, 1.0, 0.1) << layer.name;
    EXPECT_TRUE(of_bias == 0.0 || found->corrected == 0.0) << layer.name;
  }
  EXPECT_GT(compared, 0);
}

TEST_F(AnalyzePartsTest, NamesABiasThatIsAnotherOne) {
  Graph emitted = prepare(quantized());
  const QuantizedParts parts = quantized_parts(fp32_.graph(), emitted);
  Graph broken = fp32_.graph();
  const auto with_bias = std::find_if(parts.weighted.begin(), parts.weighted.end(),
                                      [&](NodeId id) { return broken.node(id).inputs.size() > 2; });
  ASSERT_NE(with_bias, parts.weighted.end());
  const Node& layer = broken.node(*with_bias);
  const std::string name = layer.name;
  // Changing the bias of the FP32 network has the same effect as a wrong bias in the INT8 model.
  Tensor bias = broken.value(layer.inputs[2]).constant->clone();
  for (float& value : bias.values<float>()) value -= 0.5F;
  broken.set_constant(layer.inputs[2], std::make_shared<const Tensor>(std::move(bias)));
  const Executor other(std::move(broken));
  const AnalyzeResult result = analyze(other, Executor(std::move(emitted)), images(), options_);
  ASSERT_FALSE(result.faults().empty());
  EXPECT_THAT(result.faults()[0], testing::StartsWith("the bias of layer '" + name + "' makes"));
  EXPECT_THAT(text_of(result, 3), testing::StartsWith("the bias of layer"));
}

TEST_F(AnalyzePartsTest, AddsUpToAllOfTheNoise) {
  const AnalyzeResult result = analysis_of(quantized());
  double shares = result.remainder();
  for (const ErrorSource& source : result.sources) shares += source.share;
  EXPECT_NEAR(shares, 1.0, 1e-9);
  const auto json = nlohmann::json::parse(json_of(result, {}, {}));
  EXPECT_NEAR(json.at("remainder").at("share").get<double>(), 1.0 - result.explained, 1e-12);
  for (const LayerNoise& layer : result.layers) {
    EXPECT_NEAR(layer.noise, layer.weights + layer.bias + layer.activations, 1e-15);
  }
}

// Computes the same figure in another way: from the tensors that `infer --dump` writes.
TEST_F(AnalyzePartsTest, FollowsTheErrorThroughTheNetwork) {
  const Graph emitted = quantized();
  const AnalyzeResult result = analysis_of(emitted, 1);
  const Executor int8(prepare(emitted));
  const std::vector<Tensor> sample = first_sample(images(1), options_.preprocess, BadImages::kSkip);
  const std::vector<std::string> all{"*"};
  const TensorPairs pairs(fp32_, &int8, sample, all, {});
  std::int64_t compared = 0;
  for (const TensorPair& pair : pairs.run(sample)) {
    const ErrorSource* source = find(result, SourceKind::kActivation, pair.name);
    if (source == nullptr || !pair.integers) continue;
    ASSERT_TRUE(source->accumulated_sqnr_db.has_value()) << pair.name;
    EXPECT_NEAR(*source->accumulated_sqnr_db, pair.sqnr_db, 1e-3) << pair.name;
    EXPECT_LE(*source->accumulated_sqnr_db, source->local_sqnr_db + 3.0) << pair.name;
    EXPECT_FALSE(source->pairs.empty());
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST_F(AnalyzePartsTest, CountsEveryValueOfATensorOnce) {
  const AnalyzeResult result = analysis_of(quantized());
  for (const ErrorSource& source : result.sources) {
    if (source.kind != SourceKind::kActivation) continue;
    const std::vector<std::int64_t>& counts = source.levels.counts;
    const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    EXPECT_GT(all, 0);
    EXPECT_EQ(all % (5 * kLayerSide * kLayerSide), 0) << source.name;  // whole channels
    EXPECT_GE(source.central.min, source.seen.min);
    EXPECT_LE(source.central.max, source.seen.max);
    EXPECT_LT(source.central.min, source.central.max);
  }
}

QuantizedActivation byte_activation(float scale) {
  QuantizedActivation activation;
  activation.tensor = "x";
  activation.affine = {scale, 128};
  activation.limits = {0, 255};
  return activation;
}

TEST(LevelCounts, PutsValuesOnTheirIntegersAndBeyond) {
  const QuantizedActivation activation = byte_activation(0.5F);
  LevelCounts counts;
  for (const float x : {0.0F, 0.2F, 0.6F, 63.5F, 64.0F, 1e30F, -1e30F, std::nanf("")}) {
    counts.add(LevelBins(activation), std::nearbyint(x / 0.5F));
  }
  const LevelHistogram histogram = counts.histogram(activation);
  EXPECT_EQ(histogram.width, 0.5);
  const auto at = [&](double x) {
    return histogram.counts.at(static_cast<std::size_t>((x - histogram.first) / histogram.width));
  };
  EXPECT_EQ(at(0.0), 2);   // 0 and 0.2
  EXPECT_EQ(at(0.5), 1);   // 0.6
  EXPECT_EQ(at(63.5), 1);  // the last integer
  EXPECT_EQ(at(64.0), 1);  // beyond the last integer
  EXPECT_EQ(histogram.counts.back(), 1);
  EXPECT_EQ(histogram.counts.front(), 2);  // -1e30 and NaN
}

TEST(LevelCounts, SaysWhatMostValuesLieIn) {
  const QuantizedActivation activation = byte_activation(1.0F);
  LevelCounts counts;
  for (int i = 0; i < 998; ++i) counts.add(LevelBins(activation), static_cast<float>(i % 10));
  counts.add(LevelBins(activation), 100.0F);
  counts.add(LevelBins(activation), -100.0F);
  const Range central = central_range(counts.histogram(activation), {-100.0F, 100.0F}, 0.99);
  EXPECT_EQ(central, (Range{0.0F, 9.0F}));
  EXPECT_EQ(central_range(counts.histogram(activation), {-100.0F, 100.0F}, 1.0),
            (Range{-100.0F, 100.0F}));
}

TEST(Channels, AreWidenedInEitherLayout) {
  Tensor plain(DType::kFloat32, {1, 2, 1, 3});
  const std::vector<float> values{1, 2, 3, -4, -5, -6};
  std::copy(values.begin(), values.end(), plain.values<float>().begin());
  ChannelRanges channels;
  widen_channels(TensorView(plain), 1, channels);
  const ChannelRanges expected{{1, 3}, {-6, -4}};
  EXPECT_EQ(channels, expected);
  Tensor last(DType::kFloat32, {1, 2, 1, 3});
  const std::vector<float> moved{1, -4, 2, -5, 3, -6};
  std::copy(moved.begin(), moved.end(), last.values<float>().begin());
  ChannelRanges same;
  widen_channels(TensorView(last.data(), DType::kFloat32, last.shape(), Layout::kChannelsLast), 1,
                 same);
  EXPECT_EQ(same, expected);
  ChannelRanges along_last;
  widen_channels(TensorView(plain), 3, along_last);
  EXPECT_EQ(along_last, (ChannelRanges{{-4, 1}, {-5, 2}, {-6, 3}}));
}

// For a mean, the jackknife gives Student's interval.
TEST(Jackknife, OfAMeanIsStudentsInterval) {
  const std::vector<double> values{1.0, 2.0, 4.0, 7.0, 11.0};
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<double> without;
  for (const double value : values) without.push_back((sum - value) / 4.0);
  const auto interval = jackknife_interval(sum / 5.0, without);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 5.0 - 2.776 * std::sqrt(16.5 / 5.0), 1e-9);
  EXPECT_NEAR(interval->high, 5.0 + 2.776 * std::sqrt(16.5 / 5.0), 1e-9);
  EXPECT_FALSE(jackknife_interval(1.0, std::vector<double>{1.0}).has_value());
}

TEST_F(AnalyzePartsTest, SaysHowSureItsFigureIs) {
  const AnalyzeResult result = analysis_of(quantized());
  ASSERT_TRUE(result.sqnr_interval_db.has_value());
  EXPECT_LT(result.sqnr_interval_db->low, result.sqnr_db);
  EXPECT_GT(result.sqnr_interval_db->high, result.sqnr_db);
  EXPECT_FALSE(analysis_of(quantized(), 1).sqnr_interval_db.has_value());
}

// The first channel is zero, the second is constant, and the fourth is ten times as wide as the
// third.
TEST_F(AnalyzePartsTest, TellsDeadConstantAndUnevenChannelsApart) {
  Net net;
  net.input("x", {1, 3, kLayerSide, kLayerSide});
  Tensor w(DType::kFloat32, {4, 3, 1, 1});
  std::ranges::fill(w.values<float>(), 0.0F);
  w.values<float>()[2 * 3] = 1.0F;
  w.values<float>()[3 * 3] = 10.0F;
  Tensor b(DType::kFloat32, {4});
  std::ranges::fill(b.values<float>(), 0.0F);
  b.values<float>()[1] = 0.5F;
  net.constant("w", std::move(w));
  net.constant("b", std::move(b));
  net.op("Conv", "a", {"x", "w", "b"});
  net.output(net.conv("last", "a_out", 4));
  const Executor fp32(prepare(std::move(net.graph)));
  CalibrateOptions calibrate_options;
  calibrate_options.collect.preprocess = options_.preprocess;
  const CalibrationTable table = calibrate(fp32, images(), calibrate_options).table;
  const Executor int8(prepare(quantize(fp32.graph(), table).graph));
  const AnalyzeResult result = analyze(fp32, int8, images(), options_);
  const ErrorSource* source = find(result, SourceKind::kActivation, "a_out");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->dead_channels, 1);
  EXPECT_EQ(source->constant_channels, 1);
  ASSERT_EQ(source->channel_ranges.size(), 4U);
  EXPECT_EQ(source->channel_ranges[0], Range());
  EXPECT_EQ(source->channel_ranges[1].max, 0.5F);
  EXPECT_NEAR(source->channel_ranges[3].max / source->channel_ranges[2].max, 10.0, 1e-3);
}

// A filter of a group with several channels is no depthwise one, and the weights of a transposed
// convolution have the channels that they read on another axis.
TEST(DescribeWeights, CallsDepthwiseWhatReadsOneChannel) {
  const auto is_depthwise = [](const char* op_type, const Shape& shape, std::int64_t groups) {
    Net net;
    const std::string x = net.input("x", {1, 8, 4, 4});
    const std::string w = net.constant("w", random_floats(shape, 5, -1.0F, 1.0F));
    net.op(op_type, "layer", {x, w}, {{"group", groups}});
    net.output("layer_out");
    const Graph graph = std::move(net.graph);
    ErrorSource source;
    describe_weights(graph, graph, graph.nodes().front(), source);
    EXPECT_FALSE(source.weight_channels.empty());
    return source.depthwise;
  };
  EXPECT_TRUE(is_depthwise("Conv", {8, 1, 3, 3}, 8));
  EXPECT_FALSE(is_depthwise("Conv", {4, 2, 3, 3}, 4));
  EXPECT_FALSE(is_depthwise("Conv", {8, 8, 3, 3}, 1));
  EXPECT_TRUE(is_depthwise("ConvTranspose", {8, 1, 3, 3}, 8));
  EXPECT_FALSE(is_depthwise("ConvTranspose", {8, 4, 3, 3}, 4));
}

TEST(Picked, ElementsLieWithinAndDoNotRepeat) {
  EXPECT_EQ(picked(3, 0), (std::vector<std::size_t>{0, 1, 2}));
  std::vector<std::size_t> some = picked(100000, 2);
  EXPECT_EQ(some.size(), kPairsOfImage);
  EXPECT_EQ(some, picked(100000, 2));
  std::ranges::sort(some);
  EXPECT_LT(some.back(), 100000U);
  EXPECT_EQ(std::ranges::adjacent_find(some), some.end());
}

}  // namespace
}  // namespace qtool
