// Runs fused operators of com.microsoft after they are rewritten, and compares them with their
// definitions (ONNX Runtime's docs/ContribOperators.md) in double precision. Also tests the models
// of that domain that are refused.
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "unit/microsoft.h"
#include "unit/onnx_check.h"

namespace qtool::microsoft {
namespace {

using ::testing::HasSubstr;

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

TEST(Microsoft, SpellsOutGelus) {
  const Tensor x = random_tensor({2, 3});
  const Tensor b = Tensor::of<float>({3}, {0.5F, -0.25F, 1.0F});
  const Inputs one = inputs_of(OpInput(x.clone()));
  const Inputs two = inputs_of(OpInput(x.clone()), constant(b.clone()));
  std::vector<double> biased = doubles(x);
  for (std::size_t i = 0; i < 6; ++i) biased[i] += doubles(b)[i % 3];
  const auto fast = [](double v) {
    return 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
  };
  expect_reals(run("Gelu", one)[0], map(doubles(x), gelu));
  expect_reals(run("BiasGelu", two)[0], map(biased, gelu));
  expect_reals(run("FastGelu", one)[0], map(doubles(x), fast));
  expect_reals(run("FastGelu", two)[0], map(biased, fast));
  for (const float alpha : {1.702F, 0.7F}) {
    const auto quick = [alpha](double v) { return v / (1 + std::exp(-double{alpha} * v)); };
    const Attributes attributes = alpha == 1.702F ? Attributes() : Attributes{{"alpha", alpha}};
    expect_reals(run("QuickGelu", one, attributes)[0], map(doubles(x), quick));
  }
}

TEST(Microsoft, SpellsOutFusedConvolutions) {
  const Tensor x = random_tensor({1, 1, 2, 3});
  const Tensor z = random_tensor({1, 1, 2, 3}, -2.0F, 2.0F, 2);
  const Inputs inputs =
      inputs_of(OpInput(x.clone()), constant(Tensor::of<float>({1, 1, 1, 1}, {1.5F})),
                constant<float>({0.25F}), OpInput(z.clone()));
  std::vector<double> sums;
  for (std::size_t i = 0; i < 6; ++i) sums.push_back(1.5 * doubles(x)[i] + 0.25 + doubles(z)[i]);
  const auto expect = [&](const std::string& name, const std::vector<float>& parameters, auto f) {
    SCOPED_TRACE(name);
    Attributes attributes = {{"activation", name}};
    if (!parameters.empty()) attributes["activation_params"] = parameters;
    expect_reals(run("FusedConv", inputs, attributes)[0], map(sums, f));
  };
  expect("Relu", {}, [](double v) { return std::max(v, 0.0); });
  expect("Tanh", {}, [](double v) { return std::tanh(v); });
  expect("Sigmoid", {}, [](double v) { return 1 / (1 + std::exp(-v)); });
  expect("Silu", {}, [](double v) { return v / (1 + std::exp(-v)); });
  expect("LeakyRelu", {0.2F}, [](double v) { return v < 0 ? 0.2 * v : v; });
  expect("Clip", {-0.5F, 1.0F}, [](double v) { return std::clamp(v, -0.5, 1.0); });
  expect("HardSigmoid", {0.3F, 0.4F}, [](double v) { return std::clamp(0.3 * v + 0.4, 0.0, 1.0); });
  expect_reals(run("FusedConv", inputs)[0], sums);
}

TEST(Microsoft, SpellsOutFusedGemms) {
  const Tensor a = random_tensor({1, 1});
  const Inputs inputs = inputs_of(OpInput(a.clone()), constant(Tensor::of<float>({1, 2}, {2, -3})),
                                  constant<float>({0.5F, 0.25F}));
  const double x = doubles(a)[0];
  const std::vector<double> sums{0.5 * 2 * x + 2 * 0.5, 0.5 * -3 * x + 2 * 0.25};
  const Attributes factors = {{"alpha", 0.5F}, {"beta", 2.0F}};
  expect_reals(run("FusedGemm", inputs, factors)[0], sums);
  Attributes leaky = factors;
  leaky["activation"] = std::string("LeakyRelu");
  leaky["activation_alpha"] = 0.3F;
  expect_reals(run("FusedGemm", inputs, leaky)[0],
               map(sums, [](double v) { return v < 0 ? 0.3 * v : v; }));
}

TEST(Microsoft, TransposesAndScalesFusedProducts) {
  const Tensor a = random_tensor({2, 3, 4});  // transBatchA: [3, 2, 4], transA: [3, 4, 2]
  const Tensor b = random_tensor({3, 2, 5}, -2, 2, 2);
  const Inputs inputs = inputs_of(OpInput(a.clone()), constant(b.clone()));
  std::vector<double> expected;
  for (std::size_t batch = 0; batch < 3; ++batch) {
    for (std::size_t m = 0; m < 4; ++m) {
      for (std::size_t n = 0; n < 5; ++n) {
        double sum = 0;
        for (std::size_t k = 0; k < 2; ++k) {
          sum += doubles(a)[(k * 3 + batch) * 4 + m] * doubles(b)[(batch * 2 + k) * 5 + n];
        }
        expected.push_back(0.5 * sum);
      }
    }
  }
  expect_reals(
      run("FusedMatMul", inputs,
          {{"alpha", 0.5F}, {"transA", std::int64_t{1}}, {"transBatchA", std::int64_t{1}}})[0],
      expected);
  const Inputs plain = inputs_of(OpInput(Tensor::of<float>({1, 2}, {2, 3})),
                                 constant(Tensor::of<float>({1, 2}, {5, 7})));
  expect_reals(run("TransposeMatMul", plain, {{"transB", std::int64_t{1}}})[0], {31});
}

TEST(Microsoft, SpellsOutSkipLayerNormalization) {
  const Tensor x = random_tensor({1, 2, 4});
  const Tensor skip = random_tensor({2, 4}, -2, 2, 2);
  const Inputs inputs =
      inputs_of(OpInput(x.clone()), OpInput(skip.clone()), constant<float>({1, 2, 3, 4}),
                constant<float>({5, 6, 7, 8}), constant<float>({0.1F, 0.2F, 0.3F, 0.4F}));
  std::vector<double> sums;
  for (std::size_t i = 0; i < 8; ++i) {
    sums.push_back(doubles(x)[i] + doubles(skip)[i] + 0.1 * static_cast<double>(i % 4 + 1));
  }
  std::vector<double> expected;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t row = i / 4 * 4;
    const double mean = (sums[row] + sums[row + 1] + sums[row + 2] + sums[row + 3]) / 4;
    double variance = 0;
    for (std::size_t k = row; k < row + 4; ++k) variance += std::pow(sums[k] - mean, 2) / 4;
    const auto channel = static_cast<double>(i % 4);
    expected.push_back((sums[i] - mean) / std::sqrt(variance + 0.01) * (channel + 1) + channel + 5);
  }
  const std::vector<Tensor> outputs =
      run("SkipLayerNormalization", inputs, {{"epsilon", 0.01F}}, 4);
  expect_reals(outputs[0], expected);
  expect_reals(outputs[3], sums);
  expect_reals(run("SkipLayerNormalization", inputs, {{"epsilon", 0.01F}})[0], expected);
}

// ---- weights in blocks ----

TEST(Microsoft, UnpacksWeightsInBlocks) {
  constexpr std::size_t kRows = 37;  // three blocks of 16, the last one not full
  constexpr std::size_t kColumns = 3;
  const Tensor x = random_tensor({2, kRows});
  for (const std::size_t bits : {2U, 4U, 8U}) {
    for (const bool packed_zeros : {false, true}) {
      SCOPED_TRACE(to_text(bits, " bits"));
      const std::size_t bytes = 2 * bits;  // of a block
      const std::size_t zero_bytes = (3 * bits + 7) / 8;
      const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
      const Tensor packed = random_integers<std::uint8_t>({kColumns, 3, size(bytes)}, 21);
      const Tensor zeros = random_integers<std::uint8_t>({kColumns, size(zero_bytes)}, 22);
      const Tensor scales = random_tensor({kColumns, 3}, 0.01F, 0.1F, 23);
      // Reads bit by bit: element i of a row begins at bit i * bits, lowest bit first.
      const auto element = [&](const Tensor& tensor, std::size_t stride, std::size_t row,
                               std::size_t index) {
        int value = 0;
        for (std::size_t bit = 0; bit < bits; ++bit) {
          const std::size_t at = index * bits + bit;
          const int byte = tensor.values<std::uint8_t>()[row * stride + at / 8];
          value |= (byte >> (at % 8) & 1) << bit;
        }
        return value;
      };
      std::vector<double> expected;
      for (std::size_t m = 0; m < 2; ++m) {
        for (std::size_t n = 0; n < kColumns; ++n) {
          double sum = 0.5 * static_cast<double>(n);
          for (std::size_t k = 0; k < kRows; ++k) {
            const int zero = packed_zeros ? element(zeros, zero_bytes, n, k / 16) : 1 << (bits - 1);
            sum += doubles(x)[m * kRows + k] * doubles(scales)[n * 3 + k / 16] *
                   (element(packed, 3 * bytes, n, k) - zero);
          }
          expected.push_back(sum);
        }
      }
      const OpInput none;
      const OpInput zero_points = packed_zeros ? constant(zeros.clone()) : OpInput();
      const Inputs inputs =
          inputs_of(OpInput(x.clone()), constant(packed.clone()), constant(scales.clone()),
                    zero_points, none, constant<float>({0.0F, 0.5F, 1.0F}));
      expect_reals(run("MatMulNBits", inputs,
                       {{"K", size(kRows)},
                        {"N", size(kColumns)},
                        {"bits", size(bits)},
                        {"block_size", std::int64_t{16}}})[0],
                   expected);
    }
  }
}

// ---- refusals ----

TEST(Microsoft, RefusesWhatItCannotTranslate) {
  const Operand a = operand({1, 3, 4, 4}, 1, 0.021F, 120);
  const OpInput two = constant<float>({0.1F, 0.2F});
  const Inputs one = inputs_of(a.values(), a.scales(), a.zero(), kResult.scales(), kResult.zero());
  EXPECT_THAT(refusal("QLinearSigmoid",
                      inputs_of(a.values(), two, a.zero(), kResult.scales(), kResult.zero())),
              HasSubstr("of input 1 has 2 elements, expected 1"));
  EXPECT_THAT(refusal("QLinearSigmoid", one, {{"axis", std::int64_t{1}}}),
              HasSubstr("has the attribute 'axis', which the operator"));
  EXPECT_THAT(refusal("QLinearSigmoid", inputs_of(a.values(), a.scales())),
              HasSubstr("found 2 inputs, expected 4 to 5 (com.microsoft)"));
  const OpInput wrong_zero = constant<std::int8_t>({3});
  EXPECT_NE(refusal("QLinearSigmoid", inputs_of(a.values(), a.scales(), wrong_zero,
                                                kResult.scales(), kResult.zero())),
            "accepted");
  const OpInput zero_scale = constant<float>({0.0F});
  EXPECT_NE(refusal("QLinearSigmoid",
                    inputs_of(a.values(), zero_scale, a.zero(), kResult.scales(), kResult.zero())),
            "accepted");
  EXPECT_THAT(refusal("QLinearSoftmax", one), HasSubstr("attribute 'opset' is missing"));
  EXPECT_NE(
      refusal("QLinearSoftmax", one, {{"opset", std::int64_t{13}}, {"axis", std::int64_t{9}}}),
      "accepted");
  const OpInput a_scale = a.scales();
  EXPECT_THAT(refusal("QLinearConcat", inputs_of(kResult.scales(), kResult.zero(), a.values()),
                      {{"axis", std::int64_t{1}}}),
              HasSubstr("three inputs for each operand"));
  EXPECT_THAT(refusal("QLinearConcat", inputs_of(kResult.scales(), kResult.zero(), a.values(),
                                                 a.scales(), a.zero())),
              HasSubstr("attribute 'axis' is missing"));
  EXPECT_NE(refusal("QLinearAveragePool", one, {{"channels_last", std::int64_t{1}}}), "accepted");
}

TEST(Microsoft, RefusesBrokenFusions) {
  const OpInput x = random_tensor({1, 1, 2, 2});
  const OpInput w = constant(Tensor::of<float>({1, 1, 1, 1}, {1.5F}));
  const auto conv = [&](const std::string& name) {
    return refusal("FusedConv", inputs_of(x, w), {{"activation", name}});
  };
  EXPECT_THAT(conv("Mish"), HasSubstr("activation 'Mish' is not supported"));
  EXPECT_THAT(conv("Clip"), HasSubstr("activation Clip has 0 parameters, expected 2"));
  EXPECT_THAT(refusal("FusedGemm", inputs_of(x, w), {{"activation", std::string("Clip")}}),
              HasSubstr("activation Clip has no 'min'"));
  EXPECT_THAT(refusal("FusedMatMul", inputs_of(x, w), {{"transA", 1.0F}}),
              HasSubstr("attribute 'transA' is not of type int"));
}

TEST(Microsoft, RefusesBlocksThatDoNotFit) {
  const OpInput x = random_tensor({1, 32});
  const OpInput packed = constant(random_integers<std::uint8_t>({2, 1, 16}, 1));
  const OpInput scales = constant<float>({0.1F, 0.2F});
  const auto refuse = [&](std::int64_t k, std::int64_t n, std::int64_t bits, std::int64_t size,
                          const OpInput& weights) {
    return refusal("MatMulNBits", inputs_of(x, weights, scales),
                   {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", size}});
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(refuse(32, 2, 4, 32, packed), "accepted");
  EXPECT_THAT(refuse(kHuge, 2, 4, 32, packed), HasSubstr("attribute 'K' is"));
  EXPECT_THAT(refuse(32, 0, 4, 32, packed), HasSubstr("attribute 'N' is 0"));
  EXPECT_THAT(refuse(32, 2, 5, 32, packed), HasSubstr("expected 2, 4 or 8"));
  EXPECT_THAT(refuse(32, 2, 4, 24, packed), HasSubstr("expected a power of two"));
  EXPECT_THAT(refuse(1 << 24, 1 << 24, 4, 16, packed), HasSubstr("the weights are 32 elements"));
  EXPECT_THAT(refuse(32, 2, 4, 32, scales), HasSubstr("the weights are 2 elements of float32"));
  const OpInput computed = random_integers<std::uint8_t>({2, 1, 16}, 1);
  EXPECT_THAT(refuse(32, 2, 4, 32, computed), HasSubstr("depend on the data"));
}

// Each reader would unpack its own copy of the weights.
TEST(Microsoft, UnpacksWeightsForOneNodeOnly) {
  const OpInput x = random_tensor({1, 32});
  const OpInput packed = constant(random_integers<std::uint8_t>({2, 1, 16}, 1));
  const OpInput scales = constant<float>({0.1F, 0.2F});
  Graph graph = model_of("MatMulNBits", inputs_of(x, packed, scales),
                         {{"K", std::int64_t{32}},
                          {"N", std::int64_t{2}},
                          {"bits", std::int64_t{4}},
                          {"block_size", std::int64_t{32}}});
  Node second = graph.node(graph.nodes().front());
  second.name = "second";
  second.outputs = {graph.add_value("again")};
  graph.add_output(second.outputs[0]);
  graph.add_node(std::move(second));
  try {
    prepare(graph);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("its packed weights are read 2 times"));
  }
}

TEST(Microsoft, NamesOperatorsThatNobodyTranslates) {
  Graph graph = model_of("Attention", inputs_of(OpInput(random_tensor({1, 2}))), {});
  const Graph prepared = prepare(graph);  // reports still count them
  EXPECT_EQ(prepared.node(prepared.nodes()[0]).domain, "com.microsoft");
  EXPECT_EQ(prepared.info.opsets.at("com.microsoft"), 1);
  EXPECT_THAT(refusal("Attention", inputs_of(OpInput(random_tensor({1, 2})))),
              HasSubstr("com.microsoft.Attention (1 node 'node')"));
}

TEST(Microsoft, LeavesModelsThatTheCheckerAccepts) {
  const Operand a = operand({1, 3, 4, 4}, 1, 0.021F, 120);
  const Graph graph =
      model_of("QLinearGlobalAveragePool",
               inputs_of(a.values(), a.scales(), a.zero(), kResult.scales(), kResult.zero()),
               {{"channels_last", std::int64_t{0}}});
  Graph prepared = prepare(graph);
  prepared.declare(prepared.outputs()[0], DType::kUInt8,
                   std::vector<Dim>{{1, ""}, {3, ""}, {1, ""}, {1, ""}});
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(prepared)), "");
}

}  // namespace
}  // namespace qtool::microsoft
