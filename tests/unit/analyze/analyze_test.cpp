#include "qtool/analyze/analyze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>

#include "base/text.h"
#include "compare/quantized_parts.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "report/analysis.h"
#include "report/page/page.h"
#include "unit/analyzed_network.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {
constexpr std::int64_t kAnalyzedSide = 8;
constexpr std::int64_t kAnalyzedChannels = 3;

/// Three convolutions with random weights, each followed by Relu.
Graph three_layers() {
  Net net;
  std::string last = net.input("x", {1, kAnalyzedChannels, kAnalyzedSide, kAnalyzedSide});
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.0F, 0.6F);
  for (const std::string name : {"a", "b", "c"}) {
    Tensor w(DType::kFloat32, {kAnalyzedChannels, kAnalyzedChannels, 3, 3});
    for (float& value : w.values<float>()) value = normal(random);
    net.constant(name + "_w", std::move(w));
    net.op("Conv", name, {last, name + "_w"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    last = net.op("Relu", name + "_relu", {name + "_out"});
  }
  net.output(last);
  return std::move(net.graph);
}

/// Checks that the list of faults in the text, the JSON and the page of a result begins with this
/// fault.
void expect_first(const AnalyzeResult& result, const std::string& fault) {
  ASSERT_FALSE(result.faults().empty());
  EXPECT_THAT(result.faults()[0], testing::StartsWith(fault));
  EXPECT_THAT(text_of(result, 3), testing::StartsWith(fault));
  const auto json = nlohmann::json::parse(json_of(result, {}, {}));
  EXPECT_THAT(json.at("faults").at(0).get<std::string>(), testing::StartsWith(fault));
  Page page;
  page.analysis = result;
  // The script of the page shows the list above everything else, in this order.
  EXPECT_THAT(html_of(page), testing::HasSubstr(to_text("\"faults\":[\"", fault)));
}

class AnalyzeTest : public AnalyzedNetwork {
 protected:
  AnalyzeTest() : AnalyzedNetwork(three_layers(), kAnalyzedSide) {}

  [[nodiscard]] Graph quantized(const CalibrationTable& table,
                                const std::vector<std::string>& exclude = {}) const {
    StaticOptions options;
    options.exclude = exclude;
    options.bias_correction = BiasCorrection::kOff;
    return quantize(fp32_.graph(), table, options).graph;
  }
};

TEST_F(AnalyzeTest, FindsARangeThatIsFarTooWide) {
  CalibrationTable coarse = table_;
  for (ActivationEntry& entry : coarse.activations) {
    if (entry.tensor == "b_relu_out") entry.affine.scale *= 30.0F;
  }
  const AnalyzeResult result = analysis_of(quantized(coarse));
  ASSERT_FALSE(result.sources.empty());
  EXPECT_EQ(result.sources[0].name, "b_relu_out");
  EXPECT_EQ(result.sources[0].node, "b_relu");
  EXPECT_EQ(result.sources[0].kind, SourceKind::kActivation);
  ASSERT_EQ(result.faults().size(), 1U);
  EXPECT_THAT(result.faults()[0], testing::StartsWith("tensor 'b_relu_out' makes"));
  EXPECT_THAT(result.faults()[0], testing::HasSubstr("of its integers"));
  EXPECT_GT(result.sources[0].share, 0.9);
  EXPECT_LT(result.sources[0].used_share, 0.05);
  EXPECT_EQ(result.sources[0].saturated_share, 0.0);
}

TEST_F(AnalyzeTest, FindsARangeThatClips) {
  CalibrationTable clipped = table_;
  for (ActivationEntry& entry : clipped.activations) {
    if (entry.tensor == "a_relu_out") entry.affine.scale /= 8.0F;
  }
  const AnalyzeResult result = analysis_of(quantized(clipped));
  EXPECT_EQ(result.sources.at(0).name, "a_relu_out");
  EXPECT_GT(result.sources[0].saturated_share, 0.1);
  expect_first(result, "tensor 'a_relu_out' makes");
  EXPECT_THAT(result.faults()[0], testing::HasSubstr("of its values are clipped"));
}

TEST_F(AnalyzeTest, FindsInputsFarBeyondWhatTheTableSaw) {
  const Graph emitted = quantized(table_);
  options_.preprocess.std = {8.0F};
  const AnalyzeResult result = analysis_of(emitted);
  expect_first(result, "input 'x' makes");
  EXPECT_THAT(result.faults()[0], testing::HasSubstr("preprocessing that of the calibration"));
}

// An activation that causes half of the noise.
ErrorSource half_of_the_noise(double used_share) {
  ErrorSource source;
  source.name = "y";
  source.node = "node";
  source.share = 0.5;
  source.used_share = used_share;
  return source;
}

// Rows of a matrix have no channels to compare.
TEST(Faults, NameNoChannelsWhereThereAreNone) {
  AnalyzeResult result;
  result.sources = {half_of_the_noise(0.9)};
  ASSERT_EQ(result.faults().size(), 1U);
  EXPECT_THAT(result.faults()[0], testing::Not(testing::HasSubstr("channel")));
}

// Every source of a tenth of the noise has its sentence, whatever the reason.
TEST(Faults, NameALayerThatMagnifies) {
  AnalyzeResult result;
  result.sources = {half_of_the_noise(0.9)};
  result.sources[0].local_sqnr_db = 38.0;
  result.sources[0].sqnr_db = 9.0;
  EXPECT_THAT(result.faults(),
              testing::ElementsAre(testing::HasSubstr("magnify its rounding, which has 38.0 dB")));
  result.sources[0].sqnr_db = 38.0;
  EXPECT_THAT(result.faults(),
              testing::ElementsAre(testing::HasSubstr("8 bits are coarse for it")));
  result.sources[0].share = 0.09;
  EXPECT_THAT(result.faults(), testing::IsEmpty());
}

TEST(Faults, NameARangeThatFewValuesNeed) {
  AnalyzeResult result;
  result.sources = {half_of_the_noise(0.9)};
  result.sources[0].range = {-10.0F, 10.0F};
  result.sources[0].seen = {-10.0F, 10.0F};
  result.sources[0].central = {-1.0F, 2.0F};
  EXPECT_THAT(
      result.faults(),
      testing::ElementsAre(testing::HasSubstr("99.9 % of its values lie in -1.00 to 2.00")));
}

TEST(Faults, NameTheChannelOfDepthwiseWeights) {
  AnalyzeResult result;
  result.sources = {half_of_the_noise(0.0)};
  ErrorSource& source = result.sources[0];
  source.kind = SourceKind::kWeights;
  source.filter = 9;
  source.depthwise = true;
  source.weight_channels = {{{-1.0F, 1.0F}, 0.1}, {{-8.0F, 2.0F}, 0.8}, {{-1.0F, 1.0F}, 0.1}};
  ASSERT_EQ(result.faults().size(), 1U);
  EXPECT_THAT(result.faults()[0],
              testing::StartsWith("the weights of layer 'y' make 50.0 % of the noise: it is a "
                                  "depthwise convolution, which has only 9 weights"));
  EXPECT_THAT(result.faults()[0],
              testing::HasSubstr("channel 1 has 80.0 % of their rounding error, with weights up to "
                                 "8.00, where the median of its 3 channels reaches 1.00"));
  source.depthwise = false;
  source.weight_channels[1].error_share = 0.1;
  EXPECT_THAT(result.faults(), testing::ElementsAre(testing::HasSubstr("no channel stands out")));
}

TEST(Faults, NameARangeThatClipsOnOneSide) {
  AnalyzeResult result;
  result.sources = {half_of_the_noise(0.5)};
  result.sources[0].saturated_share = 0.2;
  result.sources[0].range = {-10.0F, 1.0F};
  result.sources[0].seen = {0.0F, 5.0F};
  ASSERT_EQ(result.faults().size(), 1U);
  EXPECT_THAT(result.faults()[0], testing::HasSubstr("20.0 % of its values are clipped"));
}

// With a type of four bits, the Clip before the QuantizeLinear limits the range of the tensor.
TEST_F(AnalyzeTest, CountsTheIntegersOfSmallTypes) {
  CalibrateOptions calibrate_options;
  calibrate_options.collect.preprocess = options_.preprocess;
  calibrate_options.method = "minmax";
  calibrate_options.types.activation_bits = 4;
  const AnalyzeResult result =
      analysis_of(quantized(calibrate(fp32_, images(), calibrate_options).table));
  for (const ErrorSource& source : result.sources) {
    if (source.kind != SourceKind::kActivation) continue;
    EXPECT_GT(source.used_share, 0.4) << source.name;
  }
}

TEST_F(AnalyzeTest, NamesAReasonForEachTenthOfTheNoise) {
  const AnalyzeResult result = analysis_of(quantized(table_));
  std::size_t tenths = 0;
  for (const ErrorSource& source : result.sources) tenths += source.share >= 0.1 ? 1U : 0U;
  EXPECT_GT(tenths, 0U);
  EXPECT_EQ(result.faults().size(), tenths);
}

// The error of each channel is that of the weights that the model holds.
TEST_F(AnalyzeTest, DescribesTheChannelsOfWeights) {
  const AnalyzeResult result = analysis_of(quantized(table_));
  std::size_t layers = 0;
  for (const ErrorSource& source : result.sources) {
    if (source.kind != SourceKind::kWeights) continue;
    ++layers;
    ASSERT_EQ(source.weight_channels.size(), static_cast<std::size_t>(kAnalyzedChannels));
    EXPECT_EQ(source.filter, 9 * kAnalyzedChannels);
    EXPECT_FALSE(source.depthwise);
    double all = 0.0;
    for (const WeightChannel& channel : source.weight_channels) {
      all += channel.error_share;
      EXPECT_LT(channel.reached.min, 0.0F);
      EXPECT_GT(channel.reached.max, 0.0F);
    }
    EXPECT_NEAR(all, 1.0, 1e-12);
  }
  EXPECT_EQ(layers, 3U);
}

// One of 24 channels is a hundred times as large as the others. The next layer undoes that.
TEST_F(AnalyzeTest, FindsAChannelAHundredTimesTheOthers) {
  constexpr std::int64_t kMany = 24;
  constexpr std::int64_t kLoud = 5;
  Net net;
  net.input("x", {1, kAnalyzedChannels, kAnalyzedSide, kAnalyzedSide});
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0.0F, 0.4F);
  Tensor a(DType::kFloat32, {kMany, kAnalyzedChannels, 1, 1});
  Tensor b(DType::kFloat32, {kAnalyzedChannels, kMany, 1, 1});
  for (float& value : a.values<float>()) value = normal(random);
  for (float& value : b.values<float>()) value = normal(random);
  for (std::int64_t i = 0; i < kAnalyzedChannels; ++i) {
    a.values<float>()[static_cast<std::size_t>(kLoud * kAnalyzedChannels + i)] *= 100.0F;
    b.values<float>()[static_cast<std::size_t>(i * kMany + kLoud)] /= 100.0F;
  }
  net.constant("a_w", std::move(a));
  net.constant("b_w", std::move(b));
  net.op("Conv", "a", {"x", "a_w"});
  net.op("Conv", "b", {"a_out", "b_w"});
  net.output("b_out");
  const Executor fp32(prepare(std::move(net.graph)));
  CalibrateOptions calibrate_options;
  calibrate_options.collect.preprocess = options_.preprocess;
  calibrate_options.method = "minmax";
  const CalibrationTable table = calibrate(fp32, images(), calibrate_options).table;
  const Executor int8(prepare(quantize(fp32.graph(), table).graph));
  const AnalyzeResult result = analyze(fp32, int8, images(), options_);
  expect_first(result, "tensor 'a_out' makes");
  EXPECT_THAT(result.faults()[0], testing::HasSubstr("its channel 5 reaches"));
  EXPECT_EQ(result.sources.at(0).channels, kMany);
}

// Brute force: quantizes each layer alone and excludes all others.
TEST_F(AnalyzeTest, RanksLayersAsQuantizingEachAloneDoes) {
  const AnalyzeResult result = analysis_of(quantized(table_));
  ASSERT_EQ(result.layers.size(), 3U);
  double last = std::numeric_limits<double>::infinity();
  for (const LayerNoise& layer : result.layers) {
    std::vector<std::string> others;
    for (const std::string name : {"a", "b", "c"}) {
      if (name != layer.node) others.push_back(name);
    }
    const Executor alone(prepare(quantized(table_, others)));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    const double sqnr = evaluate(fp32_, &alone, images(), eval).outputs.at(0).pooled_sqnr_db;
    const double noise = std::pow(10.0, -sqnr / 10.0);
    EXPECT_NEAR(layer.noise / noise, 1.0, 0.15) << layer.node;
    EXPECT_LT(noise, last);
    last = noise;
  }
}

// With fewer than 8 bits, a Clip keeps the integers within their limits. It takes the place of the
// Relu in FP32.
TEST_F(AnalyzeTest, FindsARangeOfFewBitsThatClips) {
  StaticOptions options;
  options.types.activation_bits = 6;
  CalibrationTable clipped = table_;
  clipped.method_options.scheme.bits = 6;
  for (ActivationEntry& entry : clipped.activations) {
    entry.affine = choose_affine(entry.range, clipped.method_options.scheme);
    if (entry.tensor == "a_relu_out") entry.affine.scale /= 4.0F;  // 63 of 252 levels
  }
  const AnalyzeResult result = analysis_of(quantize(fp32_.graph(), clipped, options).graph);
  EXPECT_EQ(result.sources.at(0).name, "a_relu_out");
  EXPECT_GT(result.sources[0].saturated_share, 0.1);
}

TEST_F(AnalyzeTest, FindsWeightsOfWhichOneChannelIsAHundredTimesTheOthers) {
  StaticOptions options;
  options.types.weight_granularity = Granularity::kPerTensor;
  options.bias_correction = BiasCorrection::kOff;
  Graph skewed = fp32_.graph();
  const ValueId weight = skewed.find_value("b_w").value();
  Tensor w = skewed.value(weight).constant->clone();
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.elements() / kAnalyzedChannels); ++i) {
    w.values<float>()[i] *= 100.0F;
  }
  skewed.set_constant(weight, std::make_shared<const Tensor>(std::move(w)));
  const Executor fp32(std::move(skewed));
  CalibrateOptions calibrate_options;
  calibrate_options.collect.preprocess = options_.preprocess;
  calibrate_options.types = options.types;
  const CalibrationTable table = calibrate(fp32, images(), calibrate_options).table;
  const Executor int8(prepare(quantize(fp32.graph(), table, options).graph));
  const AnalyzeResult result = analyze(fp32, int8, images(), options_);
  double others = 0.0;
  for (const ErrorSource& source : result.sources) {
    if (source.kind == SourceKind::kWeights && source.name != "b") others += source.noise;
  }
  const auto b = std::find_if(result.sources.begin(), result.sources.end(),
                              [](const ErrorSource& s) { return s.name == "b"; });
  ASSERT_NE(b, result.sources.end());
  EXPECT_EQ(b->kind, SourceKind::kWeights);
  EXPECT_GT(b->noise, others);
}

// Brute force: a model in which only this source is quantized.
TEST_F(AnalyzeTest, MeasuresWeightsAsAModelWithNothingElse) {
  const Graph emitted = quantized(table_);
  const AnalyzeResult result = analysis_of(emitted);
  const QuantizedParts parts = quantized_parts(fp32_.graph(), prepare(emitted));
  ASSERT_EQ(parts.weighted.size(), 3U);
  for (const NodeId node : parts.weighted) {
    Graph alone = fp32_.graph();
    const ValueId weight = alone.node(node).inputs[1];
    alone.set_constant(weight, parts.with_weights.value(weight).constant);
    const Executor other(std::move(alone));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    const EvalResult expected = evaluate(fp32_, &other, images(), eval);
    const auto source =
        std::find_if(result.sources.begin(), result.sources.end(), [&](const ErrorSource& s) {
          return s.kind == SourceKind::kWeights && s.name == fp32_.graph().node(node).name;
        });
    ASSERT_NE(source, result.sources.end());
    // The last bits of FP32 sums differ because other steps are fused.
    EXPECT_NEAR(source->sqnr_db, expected.outputs[0].pooled_sqnr_db, 0.01);
  }
}

TEST_F(AnalyzeTest, ExplainsMostOfSmallErrorsAndDoesNotDependOnThreads) {
  const Graph emitted = quantized(table_);
  options_.threads = 1;
  const AnalyzeResult one = analysis_of(emitted);
  EXPECT_EQ(one.images, 5);
  EXPECT_GT(one.explained, 0.7);
  EXPECT_LT(one.explained, 1.4);
  options_.threads = 3;
  const AnalyzeResult three = analysis_of(emitted);
  ASSERT_EQ(one.sources.size(), three.sources.size());
  for (std::size_t i = 0; i < one.sources.size(); ++i) {
    EXPECT_EQ(one.sources[i].name, three.sources[i].name);
    EXPECT_EQ(one.sources[i].noise, three.sources[i].noise);
  }
}

TEST_F(AnalyzeTest, RefusesAModelWhoseWeightsAreThoseOfARewrittenNetwork) {
  Graph rewritten = quantized(table_);
  rewritten.info.metadata[std::string(kRewritesKey)] = "equalize";
  try {
    static_cast<void>(analysis_of(rewritten));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), testing::HasSubstr("equalize"));
  }
}

// If the time is over, whole images are left out, but never the first one.
TEST_F(AnalyzeTest, BeginsNoImageOnceItIsEnough) {
  const Graph emitted = quantized(table_);
  options_.enough = [] { return true; };
  const AnalyzeResult cut = analysis_of(emitted);
  EXPECT_EQ(cut.images, 1);
  options_.enough = nullptr;
  ImageSet first = images();
  first.entries.resize(1);
  const AnalyzeResult one = analyze(fp32_, Executor(prepare(emitted)), first, options_);
  ASSERT_EQ(cut.sources.size(), one.sources.size());
  for (std::size_t i = 0; i < one.sources.size(); ++i) {
    EXPECT_EQ(cut.sources[i].name, one.sources[i].name);
    EXPECT_EQ(cut.sources[i].noise, one.sources[i].noise);
  }
}

TEST_F(AnalyzeTest, RefusesAModelThatIsNotQuantized) {
  EXPECT_THROW(static_cast<void>(analysis_of(fp32_.graph())), Error);
}

}  // namespace
}  // namespace qtool
