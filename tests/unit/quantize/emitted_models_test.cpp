// If a model runs, the emitted model must run too. Tests scales far from each other, products of
// vectors, and attributes and operators that a newer opset would not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/absent.h"
#include "support/parse_onnx.h"
#include "support/places.h"
#include "support/quantize_in.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of_opset(std::int64_t opset, const std::string& graph) {
  return to_text("<ir_version: 8, opset_import: [\"\": ", opset, "]>\nmain ", graph);
}

std::vector<float> outputs_for(const Graph& prepared, float value, Lowering lowering,
                               Requantization requantization) {
  CompileOptions options;
  options.lowering = lowering;
  options.requantization = requantization;
  const Executor executor(prepared);
  const auto plan = executor.compile({}, options);
  std::vector<Tensor> inputs;
  for (const PortInfo& port : plan->inputs()) {
    inputs.emplace_back(port.dtype, port.shape);
    if (port.dtype != DType::kFloat32) continue;
    for (float& x : inputs.back().values<float>()) x = value;
  }
  Workspace workspace;
  const TensorView output =
      plan->run(std::vector<TensorView>(inputs.begin(), inputs.end()), workspace)[0];
  const auto values = output.values<float>();
  return {values.begin(), values.end()};
}

Graph read_again(const Graph& emitted) {
  return prepare(load_onnx_bytes(save_onnx_bytes(emitted), "", "emitted"));
}

// -- scales far from each other --

constexpr float kHuge = 0x1p60F;
constexpr float kTiny = 0x1p-60F;

// Emits with a range of +-`first` for the tensors named in `large` and +-`other` for the rest.
Graph with_ranges(const Graph& prepared, const std::vector<std::string>& large, float first,
                  float other) {
  CalibrationTable table;
  for (const std::string& name : tensors_to_calibrate(prepared, find_target("cpu"))) {
    ActivationEntry entry;
    entry.tensor = name;
    const float limit = std::find(large.begin(), large.end(), name) != large.end() ? first : other;
    entry.range = {-limit, limit};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    entry.dtype = find_target("cpu").activations.dtype;
    table.activations.push_back(entry);
  }
  return quantize(prepared, table, StaticOptions{}).graph;
}

struct FarScales {
  const char* name;
  const char* node;  // computes t from a and b
};

void PrintTo(const FarScales& test, std::ostream* out) { *out << test.name; }

class ScalesFarApart : public ::testing::TestWithParam<FarScales> {};

// Puts every kind of integer operator between convolutions, so that its neighbours run on integers.
TEST_P(ScalesFarApart, AreEmittedAsAModelThatRuns) {
  const std::string text = text_of_opset(17, to_text(R"((float[1,1,4,4] x) => (float[n,c,h,w] y) {
    w = Constant <value = float[1,1,1,1] {0.5}> ()
    a = Conv (x, w)
    b = Conv (a, w)
    )",
                                                     GetParam().node, R"(
    y = Conv (t, w)
  })"));
  const Graph prepared = prepare(load_text(text));
  for (const auto& large : std::vector<std::vector<std::string>>{
           {"x"}, {"a"}, {"b"}, {"t"}, {"x", "a"}, {"a", "b"}, {"x", "a", "b"}, {"a", "b", "t"}}) {
    for (const auto& [first, other] : {std::pair(kHuge, kTiny), std::pair(0x1p120F, 0x1p-100F)}) {
      SCOPED_TRACE(to_text(large.front(), " and ", large.size() - 1, " more, ", first));
      const Graph emitted = read_again(with_ranges(prepared, large, first, other));
      for (const Requantization how :
           {Requantization::kFloat, Requantization::kGemmlowp, Requantization::kSingle}) {
        EXPECT_NO_THROW(outputs_for(emitted, 1.0F, Lowering::kInteger, how));
      }
      EXPECT_NO_THROW(outputs_for(emitted, 1.0F, Lowering::kReference, Requantization::kFloat));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, ScalesFarApart,
    ::testing::Values(FarScales{"Conv", "t = Conv (b, w)"},
                      FarScales{"ConvAdd", "u = Conv (b, w) t = Add (a, u)"},
                      FarScales{"ConvRelu", "u = Conv (b, w) t = Relu (u)"},
                      FarScales{"ConvTranspose", "t = ConvTranspose (b, w)"},
                      FarScales{"Add", "t = Add (a, b)"}, FarScales{"Sub", "t = Sub (a, b)"},
                      FarScales{"Mul", "t = Mul (a, b)"}, FarScales{"Div", "t = Div (a, b)"},
                      FarScales{"Max", "t = Max (a, b)"},
                      FarScales{"Concat", "t = Concat <axis = 2> (a, b)"},
                      FarScales{"AveragePool", "t = AveragePool <kernel_shape = [2, 2]> (b)"},
                      FarScales{"GlobalAveragePool", "t = GlobalAveragePool (b)"},
                      FarScales{"MaxPool", "t = MaxPool <kernel_shape = [2, 2]> (b)"},
                      FarScales{"Sigmoid", "t = Sigmoid (b)"},
                      FarScales{"Resize", R"(s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
                              t = Resize <mode = "linear"> (b, , s))"}),
    [](const auto& test) { return test.param.name; });

TEST(ScalesOfLayers, LeaveALayerInFp32WhoseMultiplierIsInfinite) {
  const Graph prepared = prepare(load_text(text_of_opset(17, R"((float[1,4] x) => (float[n,m] y) {
    w = Constant <value = float[4,2] {1.0, 0.5, 0.25, 1.0, 0.5, 0.25, 1.0, 0.5}> ()
    v = Constant <value = float[2,2] {1.0, 0.5, 0.25, 1.0}> ()
    a = MatMul (x, w)
    y = MatMul (a, v)
  })")));
  const auto integers = [&](float x, float a) {
    const Graph emitted = read_again(with_ranges(prepared, {"x"}, x, a));
    const auto plan = Executor(emitted).compile({});
    std::vector<std::string> nodes;
    for (const StepInfo& step : plan->steps()) {
      if (step.op_type == "MatMul" && step.integer) nodes.push_back(step.output);
    }
    return nodes.size();
  };
  EXPECT_EQ(integers(1.0F, 1.0F), 2U);
  EXPECT_EQ(integers(0x1p120F, 0x1p-100F), 1U);
}

// -- products of vectors --

Graph vector_product(const char* inputs, const char* product) {
  return prepare(load_text(text_of_opset(
      14, to_text("(float", inputs, " x) => (float[a] y) {",
                  "w = Constant <value = float[4,3] {1.0, 2.0, 3.0, 0.5, 0.25, 0.125, -1.0, -2.0, "
                  "-3.0, 1.5, 1.25, 1.0}> () v = Constant <value = float[4] {1.0, -2.0, 3.0, 4.0}> "
                  "() ",
                  product, " }"))));
}

TEST(ProductsOfVectors, AreQuantizedInEveryMode) {
  for (const auto& [inputs, product] :
       {std::pair("[4]", "y = MatMul (x, w)"), std::pair("[4]", "z = MatMul (x, w) y = Relu (z)"),
        std::pair("[2,4]", "y = MatMul (x, v)"), std::pair("[4]", "y = MatMul (x, v)")}) {
    SCOPED_TRACE(product);
    const Graph prepared = vector_product(inputs, product);
    const std::vector<float> exact =
        outputs_for(prepared, 0.75F, Lowering::kInteger, Requantization::kFloat);
    for (const QuantizeMode mode : {QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
      const Graph emitted = read_again(quantize_in(mode, prepared).graph);
      const std::vector<float> y =
          outputs_for(emitted, 0.75F, Lowering::kInteger, Requantization::kFloat);
      ASSERT_EQ(y.size(), exact.size());
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], exact[i], 0.05);
    }
    EXPECT_NO_THROW(outputs_for(read_again(with_ranges(prepared, {"x"}, 1.0F, 8.0F)), 0.75F,
                                Lowering::kInteger, Requantization::kFloat));
  }
}

TEST(ProductsOfVectors, AreQuantizedInTheFileOfATrial) {
  const std::filesystem::path path =
      std::filesystem::path(kSharedData) / "hostile" / "r10_matmul_1d.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << absent(path);
  const Graph prepared = prepare(load_onnx(path));
  const Graph emitted = read_again(quantize_in(QuantizeMode::kDynamic, prepared).graph);
  const auto run = [](const Graph& graph) {
    return outputs_for(graph, 1.0F, Lowering::kInteger, Requantization::kFloat);
  };
  const std::vector<float> exact = run(prepared);
  const std::vector<float> y = run(emitted);
  ASSERT_EQ(y.size(), exact.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], exact[i], 0.05);
}

// -- opsets --

// An unknown operator at the end of a model is left out of every run. In a model of a newer opset
// it would be taken for an operator of that opset.
TEST(UnknownOperators, AtTheEndDoNotMeetANewerOpset) {
  for (const char* newer : {R"(s = Constant <value = float[4] {1.0, 1.0, 0.5, 0.5}> ()
           t = Resize <mode = "linear", antialias = 1> (c, , s))",
                            R"(t = AveragePool <kernel_shape = [2, 2], dilations = [2, 2]> (c))"}) {
    SCOPED_TRACE(newer);
    const Graph prepared = prepare(load_text(text_of_opset(
        17, to_text("(float[1,1,4,4] x) => (float[n,c,h,w] y) { w = Constant <value = "
                    "float[1,1,1,1] {0.5}> () c = Conv (x, w) ",
                    newer, " y = OfTheFuture (t) }"))));
    const auto run = [](const Graph& graph) {
      return outputs_for(graph, 1.0F, Lowering::kInteger, Requantization::kFloat);
    };
    EXPECT_FALSE(run(prepared).empty());
    EXPECT_EQ(run(read_again(prepared)), run(prepared));
    EXPECT_FALSE(run(read_again(with_ranges(prepared, {"x"}, 1.0F, 1.0F))).empty());
    for (const QuantizeMode mode : {QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
      EXPECT_FALSE(run(read_again(quantize_in(mode, prepared).graph)).empty());
    }
  }
}

std::string refusal_of_model(const Graph& graph) {
  try {
    static_cast<void>(prepare(graph));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Opset 7 has no Det. Such a node means the same as in the first opset with Det, where Det has no
// such attribute.
TEST(AttributesOfOtherOperators, AreRefusedWhereTheOperatorIsNewerThanTheOpset) {
  const std::string text =
      text_of_opset(7, "(float[2,3,3] x) => (float[2] y) { y = Det <num_scan_inputs = 8> (x) }");
  EXPECT_THAT(refusal_of_model(load_text(text)), HasSubstr("has the attribute 'num_scan_inputs'"));
  const std::string plain = text_of_opset(7, "(float[2,3,3] x) => (float[2] y) { y = Det (x) }");
  EXPECT_EQ(refusal_of_model(load_text(plain)), "");
  const std::filesystem::path path =
      std::filesystem::path(kSharedData) / "hostile" / "r11_newer_attribute.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << absent(path);
  EXPECT_THAT(refusal_of_model(load_onnx(path)), HasSubstr("has the attribute 'num_scan_inputs'"));
}

}  // namespace
}  // namespace qtool
