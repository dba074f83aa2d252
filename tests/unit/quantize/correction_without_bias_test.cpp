// Bias correction of layers without a bias port of their own (a MatMul with a constant added after
// it, the W of a recurrent layer), and in the modes that need no table.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "support/random_floats.h"
#include "support/tensor_folder.h"
#include "unit/onnx_check.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kSamples = 24;
constexpr std::int64_t kUnbiasedDepth = 6;

/// In these networks every output channel is a sum of `x` along its last axis. Each channel of `x`
/// has a different mean.
class CorrectionTest : public testing::Test {
 protected:
  CorrectionTest() : set_(TensorSet()) {}

  /// The samples of `x` and its statistics. Call once.
  CalibrationTable calibrated(const Net& net, const Shape& one, CalibrateOptions options = {}) {
    for (std::int64_t i = 0; i < kSamples; ++i) {
      Tensor x = random_floats(one, static_cast<unsigned>(40 + i));
      const auto values = x.values<float>();
      for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] += static_cast<float>(e % static_cast<std::size_t>(kUnbiasedDepth)) - 1.5F;
      }
      folder_.add(to_text("x", 10 + i, ".npy"), x);
      inputs_.push_back(std::move(x));
    }
    const Executor fp32(net.graph);
    set_ = Samples(list_tensors(folder_.path(), input_specs(fp32.graph())));
    return calibrate(fp32, set_, options).table;
  }

  /// The mean of each output channel, the last axis, over all samples.
  [[nodiscard]] std::vector<double> means(const Graph& graph) const {
    const Executor executor(prepare(graph));
    const auto plan = executor.compile({});
    Workspace workspace;
    std::vector<double> means;
    double rows = 0.0;
    for (const Tensor& x : inputs_) {
      const TensorView view = x;
      const TensorView y = plan->run({&view, 1}, workspace)[0];
      const auto channels = static_cast<std::size_t>(y.shape[y.shape.rank() - 1]);
      means.resize(channels, 0.0);
      const auto values = y.values<float>();
      for (std::size_t i = 0; i < values.size(); ++i) means[i % channels] += values[i];
      rows += static_cast<double>(values.size() / channels);
    }
    for (double& mean : means) mean /= rows;
    return means;
  }

  /// The largest deviation of a mean from the same mean in the FP32 network.
  [[nodiscard]] double deviation(const Graph& fp32, const Graph& quantized) const {
    const std::vector<double> a = means(fp32);
    const std::vector<double> b = means(quantized);
    double largest = 0.0;
    for (std::size_t c = 0; c < a.size(); ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
    return largest;
  }

  TensorFolder folder_;
  Samples set_;
  std::vector<Tensor> inputs_;
};

/// x [2, 3, 6] times a matrix [6, 5] plus a constant of rank 1 to 3, or no constant.
Net matrix_net(const Shape& added) {
  Net net;
  net.input("x", {2, 3, kUnbiasedDepth});
  net.constant("w", random_floats({kUnbiasedDepth, 5}, 1));
  std::string y = net.op("MatMul", "product", {"x", "w"});
  if (added.rank() > 0) {
    net.constant("b", random_floats(added, 2));
    y = net.op("Add", "sum", {"b", y});
  }
  net.output(y);
  return net;
}

TEST_F(CorrectionTest, OfAMatMulGoesIntoTheConstantThatIsAddedToIt) {
  const Net net = matrix_net({5});
  const CalibrationTable table = calibrated(net, {2, 3, kUnbiasedDepth});
  ASSERT_EQ(table.find("x")->observed.channel_means.size(), 6U);
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_NEAR(table.find("x")->observed.channel_means[c], static_cast<float>(c) - 1.5F, 0.2F);
  }
  StaticOptions options;
  options.types.weight_bits = 4;
  const Quantized corrected = quantize(net.graph, table, options);
  EXPECT_EQ(corrected.report.corrected_biases, 1);
  EXPECT_TRUE(corrected.report.uncorrected_layers.empty());
  options.bias_correction = BiasCorrection::kOff;
  const double was = deviation(net.graph, quantize(net.graph, table, options).graph);
  EXPECT_GT(was, 0.05);
  EXPECT_LT(deviation(net.graph, corrected.graph), 0.2 * was);
}

TEST_F(CorrectionTest, OfAMatMulNeedsAConstantOfItsChannels) {
  const CalibrationTable table = calibrated(matrix_net({}), {2, 3, kUnbiasedDepth});
  for (const Shape& added : {Shape{}, Shape{1}, Shape{3, 1}}) {
    const Net net = matrix_net(added);
    StaticOptions options;
    options.model_fingerprint = table.model_fingerprint;
    const QuantizeReport report = quantize(net.graph, table, options).report;
    EXPECT_EQ(report.corrected_biases, 0) << added.to_string();
    EXPECT_EQ(report.uncorrected_layers, std::vector<std::string>{"product"});
  }
}

TEST_F(CorrectionTest, LeavesAConstantThatOthersReadAsItIs) {
  Net net = matrix_net({2, 3, 5});
  net.output(net.op("Relu", "other", {"b"}));
  const CalibrationTable table = calibrated(net, {2, 3, kUnbiasedDepth});
  StaticOptions options;
  options.types.weight_bits = 4;
  const Quantized corrected = quantize(net.graph, table, options);
  EXPECT_EQ(corrected.report.corrected_biases, 1);
  const Node& other = corrected.graph.node(node_named(corrected.graph, "other"));
  EXPECT_EQ(other.inputs[0], net.id("b"));
}

// Tests the QOperator form (QLinearMatMul), and dynamic and weight-only models.
TEST_F(CorrectionTest, HoldsInEveryFormAndMode) {
  const Net net = matrix_net({1, 5});
  const CalibrationTable table = calibrated(net, {2, 3, kUnbiasedDepth});
  StaticOptions form;
  form.types.weight_bits = 4;
  form.form = ModelForm::kQOperator;
  DynamicOptions dynamic;
  dynamic.weights.bits = 4;
  WeightOnlyOptions stored;
  stored.weights.bits = 4;
  const auto all = [&] {
    std::vector<Quantized> made;
    made.push_back(quantize(net.graph, table, form));
    const bool corrects = form.bias_correction != BiasCorrection::kOff;
    made.push_back(corrects ? quantize(net.graph, dynamic, &table) : quantize(net.graph, dynamic));
    made.push_back(corrects ? quantize(net.graph, stored, &table) : quantize(net.graph, stored));
    return made;
  };
  form.bias_correction = BiasCorrection::kOff;
  const std::vector<Quantized> off = all();
  form.bias_correction = BiasCorrection::kTable;
  const std::vector<Quantized> on = all();
  for (std::size_t i = 0; i < on.size(); ++i) {
    const double was = deviation(net.graph, off[i].graph);
    EXPECT_GT(was, 0.05) << i;
    EXPECT_LT(deviation(net.graph, on[i].graph), 0.2 * was) << i;
    EXPECT_EQ(on[i].report.corrected_biases, 1) << i;
    EXPECT_EQ(off[i].report.corrected_biases, 0) << i;
    EXPECT_EQ(complaint_of_checker(save_onnx_bytes(on[i].graph)), "") << i;
  }
}

/// A convolution without a bias, and a Gemm with a factor for its product and one for its bias.
TEST_F(CorrectionTest, KnowsTheFactorsOfGemmAndGivesConvolutionsABias) {
  Net net;
  net.input("x", {4, kUnbiasedDepth, 1, 1});
  net.constant("filter", random_floats({5, kUnbiasedDepth, 1, 1}, 1));
  const auto conv = net.op("Conv", "conv", {"x", "filter"});
  const auto flat = net.op("Flatten", "flat", {conv});
  net.constant("w", random_floats({7, 5}, 3));
  net.constant("b", random_floats({1, 7}, 4));
  net.output(net.op("Gemm", "gemm", {flat, "w", "b"},
                    {{"transB", std::int64_t{1}}, {"alpha", 2.0F}, {"beta", 0.5F}}));
  const CalibrationTable table = calibrated(net, {4, kUnbiasedDepth, 1, 1});
  DynamicOptions dynamic;
  dynamic.weights.bits = 4;
  WeightOnlyOptions stored;
  stored.weights.bits = 4;
  const double was_dynamic = deviation(net.graph, quantize(net.graph, dynamic).graph);
  const double was_stored = deviation(net.graph, quantize(net.graph, stored).graph);
  const Quantized now_dynamic = quantize(net.graph, dynamic, &table);
  const Quantized now_stored = quantize(net.graph, stored, &table);
  EXPECT_EQ(now_dynamic.report.corrected_biases, 2);
  EXPECT_EQ(now_stored.report.corrected_biases, 2);
  EXPECT_GT(was_stored, 0.1);
  EXPECT_LT(deviation(net.graph, now_stored.graph), 0.01 * was_stored);
  EXPECT_LT(deviation(net.graph, now_dynamic.graph), 0.2 * was_dynamic);
}

// Only W shifts the means here, because R is all zeros.
TEST_F(CorrectionTest, OfARecurrentLayerIsForEachDirection) {
  constexpr std::int64_t kHidden = 5;
  Net net;
  net.input("x", {3, 2, kUnbiasedDepth});
  net.constant("w", random_floats({2, kHidden, kUnbiasedDepth}, 1, -0.2F, 0.2F));
  net.constant("r", Tensor(DType::kFloat32, {2, kHidden, kHidden}));
  net.constant("b", random_floats({2, 2 * kHidden}, 3, -0.1F, 0.1F));
  const std::vector<std::string> linear{"Affine", "Affine"};
  net.output(net.op("RNN", "rnn", {"x", "w", "r", "b"},
                    {{"hidden_size", kHidden},
                     {"direction", std::string("bidirectional")},
                     {"activations", linear},
                     {"activation_alpha", std::vector<float>{1.0F, 1.0F}},
                     {"activation_beta", std::vector<float>{0.0F, 0.0F}}}));
  const CalibrationTable table = calibrated(net, {3, 2, kUnbiasedDepth});
  WeightOnlyOptions stored;
  stored.weights.bits = 4;
  const double was = deviation(net.graph, quantize(net.graph, stored).graph);
  EXPECT_GT(was, 0.01);
  const Quantized corrected = quantize(net.graph, stored, &table);
  EXPECT_EQ(corrected.report.corrected_biases, 1);
  EXPECT_LT(deviation(net.graph, corrected.graph), 0.01 * was);
  DynamicOptions dynamic;
  dynamic.weights.bits = 4;
  const double dynamic_was = deviation(net.graph, quantize(net.graph, dynamic).graph);
  EXPECT_LT(deviation(net.graph, quantize(net.graph, dynamic, &table).graph), 0.5 * dynamic_was);
}

TEST_F(CorrectionTest, RefusesTheTableOfAnotherModel) {
  const CalibrationTable table = calibrated(matrix_net({5}), {2, 3, kUnbiasedDepth});
  const Net other = matrix_net({1, 5});
  EXPECT_THROW(quantize(other.graph, DynamicOptions(), &table), Error);
  EXPECT_THROW(quantize(other.graph, WeightOnlyOptions(), &table), Error);
}

}  // namespace
}  // namespace qtool
