#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "unit/run_op.h"

// Every operator that accepts channels-last tensors computes the same results on them as on plain
// tensors.
namespace qtool {
namespace {

using tests::Attributes;
using tests::constant;
using tests::inputs;
using tests::OpCase;
using tests::OpInput;
using tests::random_tensor;
using tests::run_op;
using Ints = std::vector<std::int64_t>;

Tensor image(std::uint64_t seed = 1) { return random_tensor({2, 6, 4, 10}, -2, 2, seed); }
Tensor positive(Shape shape, std::uint64_t seed) { return random_tensor(shape, 0.1F, 2, seed); }

Tensor cast(Tensor tensor, std::int64_t to) {
  OpCase test{"Cast", {}, {{"to", to}}, 1};
  test.inputs.emplace_back(std::move(tensor));
  return std::move(run_op(test)[0]);
}
Tensor bytes(std::uint64_t seed = 1) { return cast(random_tensor({2, 6, 4, 10}, 0, 255, seed), 2); }
Tensor truths(std::uint64_t seed = 1) {
  return cast(random_tensor({2, 6, 4, 10}, -1, 0.9F, seed), 9);
}

OpCase make_case(std::string op_type, std::vector<OpInput> inputs, Attributes attributes = {},
                 std::size_t outputs = 1) {
  return {std::move(op_type), std::move(inputs), std::move(attributes), outputs};
}

OpInput ints(std::initializer_list<std::int64_t> values) { return constant<std::int64_t>(values); }
OpInput scalar(float value) { return constant(Tensor::scalar(value)); }

std::vector<OpCase> layout_cases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Relu",        "LeakyRelu", "ThresholdedRelu",
                         "Elu",         "Selu",      "Celu",
                         "HardSigmoid", "HardSwish", "Sigmoid",
                         "Softplus",    "Softsign",  "Neg",
                         "Abs",         "Sign",      "Exp",
                         "Log",         "Sqrt",      "Reciprocal",
                         "Floor",       "Ceil",      "Round",
                         "Erf",         "Sin",       "Cos",
                         "Tan",         "Asin",      "Acos",
                         "Atan",        "Sinh",      "Cosh",
                         "Tanh",        "Asinh",     "Acosh",
                         "Atanh",       "IsNaN",     "Clip",
                         "IsInf",       "Shrink",    "MeanVarianceNormalization",
                         "Shape",       "Size",      "DynamicQuantizeLinear"}) {
    cases.push_back(make_case(op, inputs(image())));
  }
  cases.push_back(make_case("Clip", inputs(image(), scalar(-0.5F), scalar(0.75F))));
  cases.push_back(make_case("DynamicQuantizeLinear", inputs(image()), {}, 3));
  cases.push_back(make_case("Not", inputs(truths())));
  cases.push_back(make_case("Cast", inputs(image()), {{"to", std::int64_t{3}}}));
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "PRelu",
                         "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    cases.push_back(make_case(op, inputs(image(), image(2))));
    cases.push_back(make_case(op, inputs(image(), random_tensor({1, 6, 1, 1}))));
    cases.push_back(make_case(op, inputs(image(), constant(image(3)))));
    cases.push_back(make_case(op, inputs(image(), random_tensor({4, 1}))));
    cases.push_back(make_case(op, inputs(image(), scalar(2.0F))));
  }
  cases.push_back(make_case("Mod", inputs(bytes(), positive({2, 6, 4, 10}, 4))));
  cases.back().inputs[1] = OpInput(cast(random_tensor({2, 6, 4, 10}, 1, 9), 2));
  cases.push_back(make_case("Max", inputs(random_tensor({6, 1, 1}), image(), image(5))));
  cases.push_back(
      make_case("BitShift", inputs(bytes(), bytes(2)), {{"direction", std::string("LEFT")}}));
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    cases.push_back(make_case(op, inputs(bytes(), bytes(2))));
  }
  cases.push_back(make_case("BitwiseNot", inputs(bytes())));
  cases.push_back(make_case("CenterCropPad", inputs(image(), ints({2, 9, 3, 10}))));
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      cases.push_back(
          make_case("GridSample", inputs(image(), random_tensor({2, 3, 5, 2})),
                    {{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}}));
    }
  }
  for (const char* op : {"And", "Or", "Xor"}) {
    cases.push_back(make_case(op, inputs(truths(), truths(2))));
  }
  cases.push_back(make_case("Where", inputs(truths(), image(), random_tensor({6, 1, 1}))));
  cases.push_back(make_case("Where", inputs(truths(), bytes(), bytes(2))));
  cases.push_back(make_case("Concat", inputs(image(), constant(image(2)), image(3)),
                            {{"axis", std::int64_t{1}}}));
  cases.push_back(make_case("Concat", inputs(bytes(), bytes(2)), {{"axis", std::int64_t{-1}}}));
  cases.push_back(
      make_case("Split", inputs(image(), ints({1, 5})), {{"axis", std::int64_t{1}}}, 2));
  cases.push_back(make_case("Split", inputs(image()), {{"axis", std::int64_t{2}}}, 4));
  cases.push_back(make_case("Slice", inputs(image(), ints({1, -1, 0}), ints({6, -9, 4}),
                                            ints({1, 3, 2}), ints({2, -3, 1}))));
  for (const char* mode : {"constant", "reflect", "edge"}) {
    cases.push_back(make_case("Pad", inputs(image(), ints({0, 1, 2, 3, 0, 0, 1, -1})),
                              {{"mode", std::string(mode)}}));
    cases.push_back(make_case("Pad", inputs(bytes(), ints({0, 0, 2, 3, 0, 0, 1, 1})),
                              {{"mode", std::string(mode)}}));
  }
  cases.push_back(make_case("Pad", inputs(image(), ints({1, 0, 0, 1, 0, 2, 0, 0}), scalar(7))));
  for (const char* mode : {"DCR", "CRD"}) {
    cases.push_back(make_case("DepthToSpace", inputs(random_tensor({2, 12, 3, 5})),
                              {{"mode", std::string(mode)}, {"blocksize", std::int64_t{2}}}));
  }
  cases.push_back(make_case("SpaceToDepth", inputs(image()), {{"blocksize", std::int64_t{2}}}));
  cases.push_back(make_case("BatchNormalization",
                            inputs(image(), constant(positive({6}, 1)), constant(positive({6}, 2)),
                                   constant(positive({6}, 3)), constant(positive({6}, 4)))));
  cases.push_back(make_case("QuantizeLinear", inputs(image(), scalar(0.01F))));
  cases.push_back(make_case("QuantizeLinear", inputs(image(), constant(positive({6}, 1)))));
  cases.push_back(make_case(
      "QuantizeLinear",
      inputs(image(), constant(positive({6}, 1)), constant(cast(random_tensor({6}, -9, 9), 3)))));
  cases.push_back(make_case("QuantizeLinear", inputs(image(), constant(positive({10}, 1))),
                            {{"axis", std::int64_t{3}}}));
  cases.push_back(make_case("DequantizeLinear", inputs(bytes(), scalar(0.01F))));
  cases.push_back(make_case(
      "DequantizeLinear",
      inputs(bytes(), constant(positive({6}, 1)), constant(cast(random_tensor({6}, 0, 9), 2)))));
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    for (const Ints& axes : {Ints{2, 3}, Ints{1}, Ints{0, 3}, Ints{}}) {
      for (const std::int64_t keep : {0, 1}) {
        cases.push_back(make_case(op, inputs(positive({2, 6, 4, 10}, 3)),
                                  {{"axes", axes}, {"keepdims", keep}}));
      }
    }
  }
  cases.push_back(make_case("ReduceSum", inputs(image(), ints({-1, 2}))));
  for (const char* mode : {"nearest", "linear"}) {
    OpCase resize =
        make_case("Resize", inputs(positive({2, 6, 4, 10}, 3)), {{"mode", std::string(mode)}});
    resize.inputs.resize(3);  // neither a region nor scales
    resize.inputs.push_back(ints({2, 6, 9, 5}));
    cases.push_back(std::move(resize));
  }
  return cases;
}

void expect_equal(const Tensor& plain, const Tensor& last, const std::string& what) {
  ASSERT_EQ(plain.shape(), last.shape()) << what;
  if (plain.dtype() != DType::kFloat32) {
    EXPECT_TRUE(identical(plain, last)) << what;
    return;
  }
  const auto a = plain.values<float>();
  const auto b = last.values<float>();
  // Sums in another order may differ in the last bit; everything else must not differ at all.
  const float tolerance = what.starts_with("Reduce") ? 1e-6F : 0.0F;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * std::abs(a[i])) << what << " at " << i;
  }
}

TEST(ChannelsLast, GivesWhatPlainGivesForEveryOperatorThatAcceptsIt) {
  for (const OpCase& test : layout_cases()) {
    const std::vector<Tensor> plain = run_op(test);
    const std::vector<Tensor> last = run_op(test, Layout::kChannelsLast);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      expect_equal(plain[i], last[i], test.op_type + " output " + std::to_string(i));
    }
  }
}

// All operators of the list. Those in `elsewhere` below have their own suites.
#define QTOOL_OP(name, ...) #name,
const std::set<std::string> kAllOperators = {
#include "graph/operators.inc"
};

TEST(ChannelsLast, IsTestedForEveryElementWiseOperator) {
  const std::set<std::string> elsewhere = {
      "AveragePool",       "Conv",          "ConvTranspose", "Gemm",
      "GlobalAveragePool", "GlobalMaxPool", "MatMul",        "MaxPool"};
  std::set<std::string> tested;
  for (const OpCase& test : layout_cases()) tested.insert(test.op_type);
  for (const std::string& op : kAllOperators) {
    if (find_op(op, "")->layout != LayoutRule::kAny || elsewhere.contains(op)) continue;
    EXPECT_TRUE(tested.contains(op)) << op << " has no case";
  }
}

}  // namespace
}  // namespace qtool
