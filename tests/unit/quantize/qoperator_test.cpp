// The QOperator form of a quantized model must give the same integers as the QDQ form, bit for bit.
#include <gmock/gmock.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "quantize/emission/qoperator_rewrite.h"
#include "quantize/placement/placement.h"
#include "support/places.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"
#include "unit/table_with.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

/// A network quantized in both forms. both_forms() takes ranges by name; all other tensors have
/// [-1, 1].
struct BothForms {
  Graph qdq;
  Graph qoperator;
  QuantizeReport report;
};

BothForms both_forms(const Net& net, const std::map<std::string, Range>& ranges = {},
                     std::string_view target_name = "cpu", TypeChoices types = {}) {
  const Target target = with_choices(find_target(target_name), types);
  const Graph prepared = prepare(net.graph);
  const CalibrationTable table = table_with(prepared, target, ranges);
  StaticOptions options;
  options.target = target_name;
  options.types = types;
  options.bias_correction = BiasCorrection::kOff;
  BothForms forms;
  forms.qdq = quantize(prepared, table, options).graph;
  options.form = ModelForm::kQOperator;
  Quantized made = quantize(prepared, table, options);
  forms.qoperator = std::move(made.graph);
  forms.report = std::move(made.report);
  return forms;
}

std::vector<std::vector<std::byte>> outputs_of(const Graph& graph, const Tensor& input) {
  const Executor executor(prepare(load_onnx_bytes(save_onnx_bytes(graph), "", "model")));
  const auto plan = executor.compile({});
  Workspace workspace;
  const TensorView view = input;
  std::vector<std::vector<std::byte>> outputs;
  for (const TensorView& output : plan->run({&view, 1}, workspace)) {
    const auto* data = static_cast<const std::byte*>(output.data);
    outputs.emplace_back(data, data + output.shape.elements() * size_of(output.dtype));
  }
  return outputs;
}

void expect_equal_outputs(const BothForms& forms, const Shape& input) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Tensor x = random_floats(input, seed, -1.3F, 1.3F);  // beyond the range: saturates
    EXPECT_EQ(outputs_of(forms.qdq, x), outputs_of(forms.qoperator, x)) << "seed " << seed;
  }
}

std::multiset<std::string> all_ops_of(const Graph& graph) {
  std::multiset<std::string> ops;
  for (const NodeId id : graph.nodes()) ops.insert(graph.node(id).op_type);
  return ops;
}

// Every operator that has a QOperator form, one after the other, with padding and with unequal
// operands.
TEST(QOperatorForm, GivesTheSameBitsForEveryOperatorThatHasIt) {
  Net net;
  const std::string x = net.input("x", {1, 4, 9, 7});
  const std::string stem = net.op("Relu", "act", {net.conv("stem", x, 4)});
  const std::string other = net.op("LeakyRelu", "leaky", {net.conv("other", x, 4)});
  std::string y = net.op("Add", "add", {stem, other});
  y = net.op("Mul", "mul", {y, net.op("Sigmoid", "gate", {net.conv("gates", y, 4)})});
  y = net.op("Concat", "concat", {y, other}, {{"axis", std::int64_t{1}}});
  y = net.op("MaxPool", "pool", {net.conv("mix", y, 8)},
             {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{1, 1}}, {"pads", Ints{0, 1, 0, 1}}});
  y = net.op("Transpose", "turn", {y}, {{"perm", Ints{0, 1, 3, 2}}});
  y = net.op("AveragePool", "average", {net.conv("mix2", y, 8)},
             {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}});
  y = net.op("Flatten", "row", {net.op("GlobalAveragePool", "mean", {net.conv("mix3", y, 8)})});
  Tensor square(DType::kFloat32, {8, 8});
  Tensor last(DType::kFloat32, {8, 5});
  Tensor bias(DType::kFloat32, {5});
  float next = -0.4F;
  for (Tensor* tensor : {&square, &last, &bias}) {
    for (float& value : tensor->values<float>()) value = next = next > 0.4F ? -0.4F : next + 0.07F;
  }
  net.constant("square", std::move(square));
  net.constant("last", std::move(last));
  net.constant("bias", std::move(bias));
  y = net.op("MatMul", "product", {y, "square"});
  net.output(net.op("Gemm", "head", {y, "last", "bias"}));
  const BothForms forms = both_forms(net, {{"act_out", {0.0F, 2.0F}},
                                           {"leaky_out", {-0.3F, 0.7F}},
                                           {"gate_out", {0.0F, 1.0F}},
                                           {"mul_out", {-0.2F, 3.0F}}});
  const std::multiset<std::string> ops = all_ops_of(forms.qoperator);
  EXPECT_EQ(ops.count("QLinearConv"), 6U);
  for (const char* op : {"QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid",
                         "QLinearLeakyRelu", "QLinearGlobalAveragePool", "QLinearAveragePool",
                         "QLinearMatMul", "QGemm", "MaxPool", "Transpose", "Flatten"}) {
    EXPECT_EQ(ops.count(op), 1U) << op;
  }
  EXPECT_EQ(ops.count("QuantizeLinear"), 1U);  // of the input
  EXPECT_EQ(ops.count("Relu"), 0U);
  EXPECT_EQ(forms.report.qoperators, 18);
  EXPECT_EQ(forms.qoperator.info.opsets.at("com.microsoft"), 1);
  EXPECT_EQ(forms.qoperator.info.metadata.at("qtool.form"), "qoperator");
  expect_equal_outputs(forms, {1, 4, 9, 7});
}

// An activation is removed only if the limits of the integers have the same effect.
TEST(QOperatorForm, LeavesActivationsThatTheLimitsDoNotReplace) {
  const auto net_with = [](float low, float high) {
    Net net;
    net.constant("low", Tensor::scalar(low));
    net.constant("high", Tensor::scalar(high));
    const std::string x = net.conv("first", net.input("x", {1, 2, 5, 5}));
    net.output(net.conv("second", net.op("Clip", "clip", {x, "low", "high"})));
    return net;
  };
  const BothForms replaced =
      both_forms(net_with(0.0F, 6.0F), {{"clip_out", {0.0F, 5.9F}}, {"x", {-1.0F, 1.0F}}});
  EXPECT_EQ(all_ops_of(replaced.qoperator).count("Clip"), 0U);
  EXPECT_EQ(all_ops_of(replaced.qoperator).count("QLinearConv"), 1U);
  expect_equal_outputs(replaced, {1, 2, 5, 5});
  // 0.5 lies inside the range, so without the Clip there would be integers above it.
  const BothForms kept = both_forms(net_with(0.0F, 0.5F), {{"clip_out", {0.0F, 1.0F}}});
  EXPECT_EQ(all_ops_of(kept.qoperator).count("Clip"), 1U);
  EXPECT_EQ(all_ops_of(kept.qoperator).count("QLinearConv"), 0U);
  expect_equal_outputs(kept, {1, 2, 5, 5});
}

// The last convolution has a real result, which the form cannot give.
TEST(QOperatorForm, LeavesInQdqWhatHasARealResult) {
  Net net;
  net.output(
      net.op("Tanh", "tanh", {net.conv("c2", net.conv("c1", net.input("x", {1, 2, 4, 4})))}));
  const BothForms forms = both_forms(net);
  EXPECT_EQ(all_ops_of(forms.qoperator).count("Tanh"), 1U);
  expect_equal_outputs(forms, {1, 2, 4, 4});
}

TEST(QOperatorForm, IsRefusedByTargetsThatTakePairsOnly) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    if (target.takes(ModelForm::kQOperator)) {
      EXPECT_NO_THROW(both_forms(net, {}, target.name));
      continue;
    }
    try {
      both_forms(net, {}, target.name);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_THAT(error.what(), testing::HasSubstr("takes models of form qdq only"));
    }
  }
}

// Other types: signed activations, activations of fewer bits (whose Clips stay), and one scale per
// weight.
TEST(QOperatorForm, GivesTheSameBitsForOtherTypes) {
  Net net;
  const std::string x = net.op("Relu", "act", {net.conv("c1", net.input("x", {1, 2, 5, 5}))});
  net.output(net.conv("c3", net.conv("c2", x)));
  TypeChoices of_signed;
  of_signed.activation_dtype = DType::kInt8;
  TypeChoices symmetric = of_signed;
  symmetric.activation_symmetry = Symmetry::kSymmetric;
  TypeChoices six;
  six.activation_bits = 6;
  TypeChoices whole;
  whole.weight_granularity = Granularity::kPerTensor;
  for (const TypeChoices& types : {of_signed, symmetric, six, whole}) {
    expect_equal_outputs(both_forms(net, {}, "cpu", types), {1, 2, 5, 5});
  }
}

// The networks of the repository, calibrated on photographs.
TEST(QOperatorForm, GivesTheSameBitsForWholeNetworks) {
  const std::filesystem::path data = std::filesystem::path(kSourceFolder) / "data";
  CalibrateOptions calibration;
  calibration.collect.preprocess = load_preprocess(data / "preprocess.json");
  const ImageSet images = list_images(data / "calib", {}, 4);
  for (const char* name : {"signs_resnet.onnx", "signs_mobilenet.onnx"}) {
    SCOPED_TRACE(name);
    const Graph prepared = prepare(load_onnx(data / name));
    calibration.collect.model_fingerprint = fingerprint(prepared);
    const CalibrationTable table = calibrate(Executor(prepared), images, calibration).table;
    StaticOptions options;
    const Quantized pairs = quantize(prepared, table, options);
    options.form = ModelForm::kQOperator;
    const Quantized made = quantize(prepared, table, options);
    // Every convolution but one whose result is real.
    EXPECT_GE(all_ops_of(made.graph).count("QLinearConv"), all_ops_of(prepared).count("Conv") - 1);
    EXPECT_EQ(all_ops_of(made.graph).count("QGemm"), all_ops_of(prepared).count("Gemm"));
    EXPECT_LT(made.graph.nodes().size(), pairs.graph.nodes().size());
    for (const ImageEntry& entry : images.entries) {
      const Tensor input = preprocess_image(load_image(entry.path), calibration.collect.preprocess);
      EXPECT_EQ(outputs_of(pairs.graph, input), outputs_of(made.graph, input)) << entry.path;
    }
  }
}

TEST(QOperatorForm, FindsFormsByName) {
  for (const ModelForm form : {ModelForm::kQdq, ModelForm::kQOperator}) {
    EXPECT_EQ(find_model_form(name_of(form)), form);
  }
  EXPECT_FALSE(find_model_form("QDQ").has_value());
}

}  // namespace
}  // namespace qtool
