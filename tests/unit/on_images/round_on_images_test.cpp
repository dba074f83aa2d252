#include "on_images/round_on_images.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/partial_results.h"
#include "base/text.h"
#include "on_images/known_layers.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "quantize/placement/placement.h"
#include "support/image_folder.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kRoundedSide = 12;

Tensor floats_to_round(const Shape& shape, unsigned seed) {
  return normal_floats(shape, seed, 0.05F, 0.3F);
}

/// A convolution, a depthwise one, a transposed one, which the target leaves in FP32, and a
/// matrix product.
Graph rounded_network() {
  Net net;
  net.input("image", {1, 3, kRoundedSide, kRoundedSide});
  net.constant("stem_w", floats_to_round(Shape{8, 3, 3, 3}, 1));
  net.constant("stem_b", floats_to_round(Shape{8}, 2));
  net.constant("deep_w", floats_to_round(Shape{8, 1, 3, 3}, 3));
  net.constant("up_w", floats_to_round(Shape{8, 4, 2, 2}, 4));
  net.constant("last_w", floats_to_round(Shape{4, 5}, 5));
  net.op("Conv", "stem", {"image", "stem_w", "stem_b"},
         {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  net.op("Relu", "relu", {"stem_out"});
  net.op("Conv", "deep", {"relu_out", "deep_w"}, {{"group", std::int64_t{8}}});
  net.op("ConvTranspose", "up", {"deep_out", "up_w"},
         {{"strides", std::vector<std::int64_t>{2, 2}}});
  net.op("GlobalAveragePool", "pool", {"up_out"});
  net.op("Flatten", "flat", {"pool_out"});
  net.op("MatMul", "last", {"flat_out", "last_w"});
  net.output("last_out");
  return net.graph;
}

class RoundOnImages : public testing::Test {
 protected:
  RoundOnImages() {
    collect_.preprocess.mean = {127.5F};
    collect_.preprocess.std = {64.0F};
    CalibrateOptions calibrate_options;
    calibrate_options.collect = collect_;
    calibrate_options.collect.tensors = tensors_to_calibrate(fp32_.graph(), find_target("cpu"));
    calibrate_options.method = "minmax";
    table_ = calibrate(fp32_, folder_.list(), calibrate_options).table;
    options_.types.weight_bits = 4;
    options_.rounding = "gptq";
  }

  [[nodiscard]] RoundedWeights rounded(int threads, std::int64_t rounding_memory) const {
    CollectOptions collect = collect_;
    collect.threads = threads;
    return round_on_images(fp32_, table_, options_, {}, folder_.list(), collect, {rounding_memory})
        .weights;
  }
  [[nodiscard]] static std::vector<std::int8_t> integers_of(const RoundedWeights& weights,
                                                            const std::string& layer) {
    const auto values = weights.at(layer).integers->values<std::int8_t>();
    return {values.begin(), values.end()};
  }
  [[nodiscard]] std::string refusal(ErrorCode code) const {
    try {
      static_cast<void>(quantize(fp32_.graph(), table_, options_, learned_));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "accepted";
  }

  ImageFolder folder_{kRoundedSide, 5};
  Executor fp32_{rounded_network()};
  CollectOptions collect_;
  CalibrationTable table_;
  StaticOptions options_;
  Learned learned_;
};

TEST_F(RoundOnImages, DependsNeitherOnThreadsNorOnMemory) {
  const RoundedWeights one = rounded(1, 1 << 20);
  ASSERT_THAT(one, testing::SizeIs(3));
  // The stem has the largest moments: 27 x 27 floats. With just this memory there is one pass for
  // each layer.
  for (const RoundedWeights& other : {rounded(3, 1 << 20), rounded(2, 27 * 27 * 4)}) {
    ASSERT_THAT(other, testing::SizeIs(3));
    for (const auto& [layer, weights] : one) {
      EXPECT_EQ(integers_of(other, layer), integers_of(one, layer)) << layer;
    }
  }
}

TEST_F(RoundOnImages, DoesNotDependOnTheBytesOfAPass) {
  const RoundedWeights one = rounded(1, 1 << 20);
  RoundOnImagesOptions limits;
  limits.pass_bytes = 1;  // a pass for each layer
  std::int64_t most = 0;
  CollectOptions collect = collect_;
  collect.progress = [&](std::int64_t, std::int64_t total) {
    most = total;
    return ProgressAnswer::kContinue;
  };
  const RoundedWeights apart =
      round_on_images(fp32_, table_, options_, {}, folder_.list(), collect, limits).weights;
  EXPECT_EQ(most, 3 * 5 + 3);  // passes times images, and layers
  ASSERT_THAT(apart, testing::SizeIs(3));
  for (const auto& [layer, weights] : one) {
    EXPECT_EQ(integers_of(apart, layer), integers_of(one, layer)) << layer;
  }
}

// The vectors of an image that wait to be added count for a pass. The network's images have at most
// 144 places, far fewer than the vectors that a layer may get from an image.
TEST_F(RoundOnImages, PutsLayersThatGetFewVectorsIntoOnePass) {
  RoundOnImagesOptions limits;
  limits.pass_bytes = 1 << 16;
  std::int64_t most = 0;
  CollectOptions collect = collect_;
  collect.threads = 1;
  collect.progress = [&](std::int64_t, std::int64_t total) {
    most = total;
    return ProgressAnswer::kContinue;
  };
  EXPECT_THAT(round_on_images(fp32_, table_, options_, {}, folder_.list(), collect, limits).weights,
              testing::SizeIs(3));
  EXPECT_EQ(most, 5 + 3);  // images, and layers
}

TEST_F(RoundOnImages, AcceptsWideTensorsThatTheNetworkDoesNotHave) {
  options_.wide = {"in the part that is not run"};
  EXPECT_THAT(rounded(1, 1 << 20), testing::SizeIs(3));
}

TEST_F(RoundOnImages, BySamplesDependsNeitherOnThreadsNorOnPasses) {
  options_.rounding = "adaround";
  const RoundedWeights one = rounded(1, 1 << 24);
  const RoundedWeights other = rounded(3, 1 << 24);
  ASSERT_THAT(one, testing::SizeIs(3));
  for (const auto& [layer, weights] : one) {
    EXPECT_EQ(integers_of(other, layer), integers_of(one, layer)) << layer;
  }
  options_.rounding = "gptq";
  const RoundedWeights by_moments = rounded(1, 1 << 24);
  EXPECT_NE(integers_of(one, "stem"), integers_of(by_moments, "stem"));
  // If the samples do not fit into memory besides the moments, the moments alone decide.
  options_.rounding = "adaround";
  EXPECT_EQ(integers_of(rounded(1, 27 * 27 * 4), "stem"), integers_of(by_moments, "stem"));
}

TEST_F(RoundOnImages, WithoutTimeLeavesLayersToGptq) {
  const RoundedWeights by_moments = rounded(1, 1 << 24);
  options_.rounding = "adaround";
  RoundOnImagesOptions limits;
  limits.out_of_time = [] { return true; };
  const RoundedWeights late =
      round_on_images(fp32_, table_, options_, {}, folder_.list(), collect_, limits).weights;
  for (const auto& [layer, weights] : by_moments) {
    EXPECT_EQ(integers_of(late, layer), integers_of(by_moments, layer)) << layer;
  }
}

TEST_F(RoundOnImages, GoesOnFromPartialResults) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / to_text("qtool_round_test.", ::getpid());
  const RoundedWeights whole = rounded(1, 1 << 20);
  PartialResults results(path, 1);
  RoundOnImagesOptions limits;
  limits.resume = &results;
  // Stops after the first layer, which takes 5 images.
  CollectOptions stopped = collect_;
  stopped.threads = 1;
  stopped.progress = [](std::int64_t done, std::int64_t) {
    return done > 5 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  EXPECT_THROW(static_cast<void>(
                   round_on_images(fp32_, table_, options_, {}, folder_.list(), stopped, limits)),
               Error);
  EXPECT_EQ(results.size(), 1);
  // A finished layer is not rounded again. To see that, one of its kept integers is changed.
  const std::string known = results.find("stem").value();
  std::string marked = known;
  marked.back() = static_cast<char>(marked.back() == 0 ? 1 : 0);
  results.keep("stem", marked);
  results.keep("deep", "too short");
  RoundedWeights resumed =
      round_on_images(fp32_, table_, options_, {}, folder_.list(), collect_, limits).weights;
  EXPECT_EQ(integers_of(resumed, "stem").back(), marked.back());
  EXPECT_EQ(integers_of(resumed, "deep"), integers_of(whole, "deep"));
  EXPECT_EQ(integers_of(resumed, "last"), integers_of(whole, "last"));
  results.keep("stem", known);
  resumed = round_on_images(fp32_, table_, options_, {}, folder_.list(), collect_, limits).weights;
  EXPECT_EQ(integers_of(resumed, "stem"), integers_of(whole, "stem"));
  // Kept integers beyond the limits of 4 bits are not used.
  marked.back() = 100;
  results.keep("stem", marked);
  resumed = round_on_images(fp32_, table_, options_, {}, folder_.list(), collect_, limits).weights;
  EXPECT_EQ(integers_of(resumed, "stem"), integers_of(whole, "stem"));
  results.remove();
}

// Vectors are equal to the last bit only if everything before them is equal.
TEST(SourcesOf, AreThoseOfTheOperatorsAndConstantsBeforeATensor) {
  const auto source = [](const char* tensor, float stem, float last, const char* function) {
    Net net;
    net.input("image", {1, 1, 2, 2});
    net.constant("stem_w", Tensor::of<float>(Shape{1, 1, 1, 1}, {stem}));
    net.constant("last_w", Tensor::of<float>(Shape{1, 1, 1, 1}, {last}));
    net.op("Conv", "stem", {"image", "stem_w"});
    net.op(function, "function", {"stem_out"});
    net.output(net.op("Conv", "last", {"function_out", "last_w"}));
    return sources_of(net.graph)[net.id(tensor)];
  };
  const std::uint64_t base = source("function_out", 0.5F, 0.5F, "Relu");
  EXPECT_EQ(source("function_out", 0.5F, 0.5F, "Relu"), base);
  EXPECT_EQ(source("function_out", 0.5F, 2.0F, "Relu"), base);
  EXPECT_NE(source("function_out", 2.0F, 0.5F, "Relu"), base);
  EXPECT_NE(source("function_out", 0.5F, 0.5F, "Tanh"), base);
  EXPECT_NE(source("last_out", 0.5F, 2.0F, "Relu"), source("last_out", 0.5F, 0.5F, "Relu"));
}

TEST_F(RoundOnImages, TakesLayersThatOtherModelsRounded) {
  KnownLayers known;
  RoundOnImagesOptions limits;
  limits.known = &known;
  std::int64_t layers = 0;  // that were rounded
  CollectOptions collect = collect_;
  collect.progress = [&](std::int64_t done, std::int64_t total) {
    layers = total - 5;  // one pass over 5 images
    EXPECT_LE(done, total);
    return ProgressAnswer::kContinue;
  };
  const auto run = [&] {
    layers = 0;
    return round_on_images(fp32_, table_, options_, {}, folder_.list(), collect, limits).weights;
  };
  const auto expect_as_alone = [&](const RoundedWeights& weights) {
    for (const auto& [layer, alone] : rounded(1, 1 << 24)) {
      EXPECT_EQ(integers_of(weights, layer), integers_of({{layer, alone}}, layer)) << layer;
    }
  };
  expect_as_alone(run());
  EXPECT_EQ(layers, 3);
  expect_as_alone(run());
  EXPECT_EQ(layers, 0);
  for (ActivationEntry& entry : table_.activations) {
    if (entry.tensor == "relu_out") entry.affine.scale *= 2.0F;  // the input of `deep`
  }
  expect_as_alone(run());
  EXPECT_EQ(layers, 1);
  options_.exclude = {"last"};
  expect_as_alone(run());
  EXPECT_EQ(layers, 0);
  options_.types.weight_bits = 5;
  expect_as_alone(run());
  EXPECT_EQ(layers, 2);
  options_.rounding = "adaround";
  expect_as_alone(run());
  EXPECT_EQ(layers, 2);
}

TEST_F(RoundOnImages, LeavesOutWhatDoesNotFit) {
  learned_.rounded = rounded(1, 27 * 27 * 4 - 1);
  EXPECT_THAT(learned_.rounded, testing::Not(testing::Contains(testing::Key("stem"))));
  const Quantized quantized = quantize(fp32_.graph(), table_, options_, learned_);
  EXPECT_THAT(quantized.report.nearest_layers, testing::ElementsAre("stem"));
  EXPECT_EQ(quantized.graph.info.metadata.at(std::string(kRoundingKey)), "gptq");
}

TEST_F(RoundOnImages, GivesTheIntegersOfTheModel) {
  learned_.rounded = rounded(2, 1 << 20);
  const Graph graph = quantize(fp32_.graph(), table_, options_, learned_).graph;
  std::size_t found = 0;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!learned_.rounded.contains(node.name)) continue;
    const Node& stored = graph.node(graph.value(node.inputs[1]).producer);
    const auto integers = graph.value(stored.inputs[0]).constant->values<std::int8_t>();
    EXPECT_EQ(std::vector<std::int8_t>(integers.begin(), integers.end()),
              integers_of(learned_.rounded, node.name));
    ++found;
  }
  EXPECT_EQ(found, 3U);
}

// A search excludes other nodes than the rounding did. Equalization may then choose other factors,
// and the integers of the old weights would be wrong for the new weights.
TEST_F(RoundOnImages, IsNotUsedForOtherWeights) {
  learned_.rounded = rounded(2, 1 << 20);
  EXPECT_THAT(quantize(fp32_.graph(), table_, options_, learned_).report.nearest_layers,
              testing::IsEmpty());
  Graph other = fp32_.graph();
  const ValueId weights = other.node(node_named(other, "stem")).inputs[1];
  Tensor doubled = other.value(weights).constant->clone();
  for (float& value : doubled.values<float>()) value *= 2.0F;
  other.set_constant(weights, std::make_shared<const Tensor>(std::move(doubled)));
  options_.model_fingerprint = table_.model_fingerprint;
  EXPECT_THAT(quantize(other, table_, options_, learned_).report.nearest_layers,
              testing::ElementsAre("stem"));
}

// TensorRT reads real weights, which must round to the chosen integers.
TEST_F(RoundOnImages, ReachesTargetsThatStoreReals) {
  options_.target = "tensorrt";
  options_.types = {};
  table_.types = {};
  learned_.rounded = rounded(2, 1 << 20);
  ASSERT_THAT(learned_.rounded, testing::Contains(testing::Key("deep")));
  const Graph graph = quantize(fp32_.graph(), table_, options_, learned_).graph;
  std::size_t found = 0;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!learned_.rounded.contains(node.name)) continue;
    const Node& back = graph.node(graph.value(node.inputs[1]).producer);
    const Node& there = graph.node(graph.value(back.inputs[0]).producer);
    ASSERT_EQ(there.op_type, "QuantizeLinear");
    const auto reals = graph.value(there.inputs[0]).constant->values<float>();
    const auto scales = graph.value(there.inputs[1]).constant->values<float>();
    const std::vector<std::int8_t> integers = integers_of(learned_.rounded, node.name);
    const bool is_product = node.op_type == "MatMul";  // channels last
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const std::size_t channel =
          is_product ? i % scales.size() : i / (integers.size() / scales.size());
      EXPECT_EQ(std::nearbyint(reals[i] / scales[scales.size() == 1 ? 0 : channel]), integers[i]);
    }
    ++found;
  }
  EXPECT_EQ(found, learned_.rounded.size());
}

// Without channel means the mean error is not corrected, so it must count in the rounding.
TEST_F(RoundOnImages, CountsTheMeanWhereTheTableHasNone) {
  const RoundedWeights with_means = rounded(1, 1 << 20);
  for (ActivationEntry& entry : table_.activations) entry.observed.channel_means.clear();
  const RoundedWeights without = rounded(1, 1 << 20);
  options_.bias_correction = BiasCorrection::kOff;
  const RoundedWeights off = rounded(1, 1 << 20);
  EXPECT_NE(integers_of(without, "deep"), integers_of(with_means, "deep"));
  EXPECT_EQ(integers_of(without, "deep"), integers_of(off, "deep"));
}

TEST_F(RoundOnImages, IsRefusedWhereNothingFits) {
  EXPECT_THAT(refusal(ErrorCode::kUsage),
              testing::HasSubstr("'gptq' needs images, found no weights rounded on any"));
  learned_.rounded["stem"].integers =
      std::make_shared<const Tensor>(Tensor::of<std::int8_t>(Shape{2}, {1, 2}));
  EXPECT_THAT(refusal(ErrorCode::kInvalidArgument),
              testing::HasSubstr("rounded weights of 'stem': found int8 of shape [2], expected "));
  learned_.rounded["stem"].integers = std::make_shared<const Tensor>(
      Tensor::of<std::int8_t>(Shape{8, 3, 3, 3}, std::vector<std::int8_t>(216, 100)));
  EXPECT_THAT(refusal(ErrorCode::kInvalidArgument),
              testing::HasSubstr("within the limits of its bits"));
}

}  // namespace
}  // namespace qtool
