// Compares INT8 models of equalized networks with the FP32 network, tensor by tensor.
#include "quantize/rewrites/scaled_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/base/error.h"
#include "qtool/compare/infer.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/samples/samples.h"
#include "quantize/groundwork.h"
#include "support/tensor_folder.h"
#include "unit/uneven_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph with_text(const std::string& text) {
  Graph graph;
  graph.info.metadata[std::string(kRewritesKey)] = "equalize";
  graph.info.metadata[std::string(kScaledChannelsKey)] = text;
  return graph;
}

std::string refusal_of_channels(const std::string& text) {
  try {
    static_cast<void>(scaled_channels_of(with_text(text)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    return error.what();
  }
  return "";
}

TEST(ScaledChannels, AreReadAsTheyWereWritten) {
  ScaledChannels scaled;
  scaled.tensors["a"] = scaled.tensors["b"] = {1, {1.0, 0.5, std::exp2(-0.25)}};
  scaled.tensors["shuffled"] = {};
  scaled.tensors["tokens"] = {2, {0.5}};
  const std::string text = to_json_text(scaled);
  EXPECT_EQ(text, R"([{"tensors":["shuffled"],"factors":""},{"tensors":["a","b"],"factors":"AEB"},)"
                  R"({"tensors":["tokens"],"factors":"E","axis":2}])");
  EXPECT_EQ(scaled_channels_of(with_text(text)).tensors, scaled.tensors);
  scaled.tensors["c"] = {1, {0.7}};
  EXPECT_THROW(static_cast<void>(to_json_text(scaled)), Error);
}

TEST(ScaledChannels, OfTextThatIsNoneAreRefused) {
  EXPECT_THAT(refusal_of_channels("{"), HasSubstr("qtool.scaled_channels"));
  EXPECT_THAT(refusal_of_channels("{}"), HasSubstr("qtool.scaled_channels"));
  EXPECT_THAT(refusal_of_channels(R"([{"tensors":["a"]}])"), HasSubstr("factors"));
  EXPECT_THAT(refusal_of_channels(R"([{"tensors":["a"],"factors":"A~"}])"),
              HasSubstr("one character from ! to z for each channel"));
  EXPECT_THAT(refusal_of_channels(R"([{"tensors":"a","factors":"A"}])"), HasSubstr("tensors"));
  EXPECT_THAT(refusal_of_channels(R"([{"tensors":["a"],"factors":"A","axis":0}])"),
              HasSubstr("1 to 63"));
}

TEST(ScaledChannels, AreThoseOfTheTensorOrRefused) {
  Tensor tensor(DType::kFloat32, Shape{1, 2, 1, 2});
  for (float& value : tensor.values<float>()) value = 1.0F;
  const ChannelScaling two{1, {0.5, 2.0}};
  scale_channels(tensor, "t", two, tensor.values<float>().data());
  EXPECT_THAT(std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end()),
              ElementsAre(0.5F, 0.5F, 2.0F, 2.0F));
  scale_channels(tensor, "t", {3, {2.0, 1.0}}, tensor.values<float>().data());
  EXPECT_THAT(std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end()),
              ElementsAre(1.0F, 0.5F, 4.0F, 2.0F));
  const ChannelScaling three{1, {1.0, 1.0, 1.0}};
  EXPECT_THROW(scale_channels(tensor, "t", three, tensor.values<float>().data()), Error);
}

/// A network of uneven channels, its table, and the INT8 model of the equalized network.
class EqualizedModel : public testing::TestWithParam<const char*> {
 protected:
  EqualizedModel() {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      folder_.add(std::to_string(seed) + ".npy", uniform_image({1, 3, 12, 12}, seed));
    }
    CalibrateOptions calibrated;
    calibrated.target = GetParam();
    table_ = table_of(fp32_, calibrated);
    options_ = equalized();
    options_.target = GetParam();
    int8_ = quantize(fp32_.graph(), table_, options_).graph;
  }
  static bool with_functions() { return std::string(GetParam()) == "qtool"; }

  [[nodiscard]] AnalyzeResult analysis(const Executor& fp32, const Graph& int8) const {
    const Samples samples(list_tensors(folder_.path(), input_specs(fp32_.graph())));
    return analyze(fp32, Executor(prepare(int8)), samples, {});
  }

  const TensorFolder folder_;
  const Executor fp32_{prepare(with_functions() ? silu_net(0.1F).graph : uneven_net().graph)};
  CalibrationTable table_;
  StaticOptions options_;
  Graph int8_;
};

// The expected result comes from the equalized network in FP32, with which tensors can be compared
// without dividing them by factors.
TEST_P(EqualizedModel, IsAnalyzedAsItsOwnNetworkWouldBe) {
  const Groundwork ground = lay_groundwork(fp32_.graph(), table_, options_);
  ASSERT_THAT(ground.rewrites().names, ElementsAre("equalize"));
  Graph without_word = int8_;
  without_word.info.metadata.erase(std::string(kRewritesKey));
  const AnalyzeResult expected = analysis(Executor(prepare(Graph(ground.graph()))), without_word);
  const AnalyzeResult found = analysis(fp32_, int8_);
  EXPECT_NEAR(found.sqnr_db, expected.sqnr_db, 0.01);
  using Key = std::pair<SourceKind, std::string>;
  std::map<Key, const ErrorSource*> by_name;
  for (const ErrorSource& source : expected.sources) by_name[{source.kind, source.name}] = &source;
  std::int64_t scaled = 0;
  for (const ErrorSource& source : found.sources) {
    const Key key{source.kind, source.name};
    ASSERT_TRUE(by_name.contains(key)) << source.name;
    const ErrorSource& own = *by_name[key];
    // The noise of a bias is the difference of two noises that are nearly equal, so it is less
    // exact.
    EXPECT_NEAR(source.sqnr_db, own.sqnr_db, source.kind == SourceKind::kBias ? 0.5 : 0.05)
        << source.name;
    EXPECT_NEAR(source.local_sqnr_db, own.local_sqnr_db, 0.05) << source.name;
    EXPECT_NEAR(source.median_peak, own.median_peak, 1e-4) << source.name;
    scaled += source.scaled ? 1 : 0;
  }
  EXPECT_EQ(found.sources.size(), expected.sources.size());
  EXPECT_GE(scaled, 2);
}

TEST_P(EqualizedModel, HasTensorsInTheUnitsOfTheFp32Network) {
  const Executor int8(prepare(int8_));
  const std::vector<std::string> all{"*"};
  std::vector<Tensor> sample;
  sample.push_back(uniform_image({1, 3, 12, 12}, 2));
  std::int64_t compared = 0;
  for (const TensorPair& pair : TensorPairs(fp32_, &int8, sample, all, {}).run(sample)) {
    if (!pair.int8) continue;
    ++compared;
    EXPECT_GT(pair.sqnr_db, 15.0) << pair.name;
  }
  EXPECT_GE(compared, 5);
}

TEST_P(EqualizedModel, IsRefusedWhereItDoesNotSayHowItWasScaled) {
  Graph silent = int8_;
  silent.info.metadata.erase(std::string(kScaledChannelsKey));
  EXPECT_THROW(static_cast<void>(analysis(fp32_, silent)), Error);
  const Executor int8(prepare(silent));
  const std::vector<std::string> all{"*"};
  std::vector<Tensor> sample;
  sample.push_back(uniform_image({1, 3, 12, 12}, 2));
  EXPECT_THROW(TensorPairs(fp32_, &int8, sample, all, {}), Error);
}

/// Two products of tokens, whose channels are the last axis, behind a convolution.
Net token_net(std::int64_t height, std::int64_t width) {
  Net net;
  const auto shape = [&](const char* name, std::vector<std::int64_t> dims) {
    return net.constant(name, Tensor::of<std::int64_t>({std::ssize(dims)}, dims));
  };
  const auto uneven = [&](const char* name, unsigned seed) {
    Tensor w = random_floats({8, 8}, seed);
    const auto values = w.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= std::pow(0.25F, static_cast<float>(i % 4));
    }
    return net.constant(name, std::move(w));
  };
  const auto image = uneven_conv(net, "conv", net.input("x", {1, 3, height, width}), 8, 3, 1, 51);
  const auto relu = net.op("Relu", "relu0", {image});
  const auto flat = net.op("Reshape", "flat", {relu, shape("flat_shape", {1, 8, height * width})});
  const auto tokens =
      net.op("Transpose", "tokens", {flat}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const auto a =
      net.op("Relu", "relu1", {net.op("MatMul", "product1", {tokens, uneven("w1", 53)})});
  const auto b = net.op("Relu", "relu2", {net.op("MatMul", "product2", {a, uneven("w2", 54)})});
  net.output(net.op("MatMul", "product3", {b, net.constant("w3", random_floats({8, 5}, 55))}));
  return net;
}

std::vector<float> output_of(const Graph& graph, const Tensor& input) {
  const std::shared_ptr<const Plan> plan = Executor(graph).compile({});
  Workspace workspace;
  const std::vector<TensorView> inputs{input};
  const auto values = plan->run(inputs, workspace)[0].values<float>();
  return {values.begin(), values.end()};
}

/// Images with more pixels than channels, and with equally many: then only the axis tells tokens
/// from channels.
class EqualizedTokens : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
 protected:
  EqualizedTokens() {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      folder_.add(std::to_string(seed) + ".npy", uniform_image(shape_, seed));
    }
  }

  const Shape shape_{1, 3, GetParam().first, GetParam().second};
  TensorFolder folder_;
  const Executor fp32_{prepare(token_net(GetParam().first, GetParam().second).graph)};
};

TEST_P(EqualizedTokens, AreScaledAlongTheirOwnAxis) {
  const Samples samples(list_tensors(folder_.path(), input_specs(fp32_.graph())));
  CalibrateOptions options;
  options.types.weight_pairs = WeightPairs::kFree;  // they cost the same noise before and after
  const CalibrationTable table = calibrate(fp32_, samples, options).table;
  const Groundwork ground = lay_groundwork(fp32_.graph(), table, equalized());
  const Tensor image = uniform_image(shape_, 2);
  const std::vector<float> before = output_of(fp32_.graph(), image);
  const std::vector<float> after = output_of(ground.graph(), image);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-5F * (1.0F + std::abs(before[i])));
  }

  const Graph emitted = quantize(fp32_.graph(), table, equalized()).graph;
  const ScaledChannels scaled = scaled_channels_of(emitted);
  const ChannelScaling* relu = scaled.find("relu1_out");
  ASSERT_NE(relu, nullptr);
  EXPECT_EQ(relu->axis, 2);
  EXPECT_THAT(relu->factors, testing::SizeIs(8));
  ASSERT_NE(scaled.find("relu0_out"), nullptr);
  EXPECT_EQ(scaled.find("relu0_out")->axis, 1);

  const auto sqnr = [&](const Graph& int8) {
    return analyze(fp32_, Executor(prepare(int8)), samples, {}).sqnr_db;
  };
  EXPECT_GT(sqnr(emitted), sqnr(quantize(fp32_.graph(), table, {}).graph) + 2.0);

  const Executor int8(prepare(emitted));
  const std::vector<std::string> all{"*"};
  std::vector<Tensor> sample;
  sample.push_back(uniform_image(shape_, 2));
  std::int64_t compared = 0;
  for (const TensorPair& pair : TensorPairs(fp32_, &int8, sample, all, {}).run(sample)) {
    if (!pair.int8) continue;
    ++compared;
    EXPECT_GT(pair.sqnr_db, 15.0) << pair.name;
  }
  EXPECT_GE(compared, 4);
}

INSTANTIATE_TEST_SUITE_P(Images, EqualizedTokens,
                         testing::Values(std::pair{12, 12}, std::pair{2, 4}));

INSTANTIATE_TEST_SUITE_P(Targets, EqualizedModel, testing::Values("cpu", "qtool"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace qtool
