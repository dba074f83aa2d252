// Runs integer operators of com.microsoft after they are rewritten, and compares them with their
// definitions (ONNX Runtime's docs/ContribOperators.md) in double precision.
#include "unit/microsoft.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace qtool::microsoft {
namespace {

using ::testing::HasSubstr;

TEST(Microsoft, AddsAndMultipliesIntegersWithBroadcasting) {
  const Operand a = operand({2, 3, 4, 5}, 1, 0.021F, 120);
  const Operand b = operand({1, 3, 1, 1}, 2, 0.013F, 90);
  const std::vector<double> x = a.reals();
  const std::vector<double> y = b.reals();
  std::vector<double> sums;
  std::vector<double> products;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums.push_back(x[i] + y[i / 20 % 3]);
    products.push_back(x[i] * y[i / 20 % 3]);
  }
  const Inputs inputs = inputs_of(a.values(), a.scales(), a.zero(), b.values(), b.scales(),
                                  b.zero(), kResult.scales(), kResult.zero());
  bool integer = false;
  expect_quantized(run("QLinearAdd", inputs, {}, 1, &integer)[0], sums);
  EXPECT_TRUE(integer);
  expect_quantized(run("QLinearMul", inputs)[0], products);
}

TEST(Microsoft, TakesZeroForAZeroPointThatIsMissing) {
  const Operand a = operand<std::int8_t>({2, 3}, 1, 0.021F, 0);
  const Operand b = operand<std::int8_t>({2, 3}, 2, 0.013F, 0);
  const Operand result{Tensor(DType::kInt8, {}), 0.04F, 0};
  std::vector<double> sums = a.reals();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += b.reals()[i];
  const OpInput none;
  expect_quantized(run("QLinearAdd", inputs_of(a.values(), a.scales(), none, b.values(), b.scales(),
                                               none, result.scales()))[0],
                   sums, result);
}

TEST(Microsoft, ConcatenatesTensorsOfDifferentScales) {
  const Operand a = operand({1, 2, 3}, 1, 0.021F, 120);
  const Operand b = operand({1, 1, 3}, 2, 0.013F, 90);
  std::vector<double> all = a.reals();
  for (const double value : b.reals()) all.push_back(value);
  const Inputs inputs = inputs_of(kResult.scales(), kResult.zero(), a.values(), a.scales(),
                                  a.zero(), b.values(), b.scales(), b.zero());
  expect_quantized(run("QLinearConcat", inputs, {{"axis", std::int64_t{1}}})[0], all);
}

// Pixel p of channel c in a tensor [1, 3, 4, 4] or, with the channels last, [1, 4, 4, 3].
double pixel(const std::vector<double>& x, bool last, std::size_t c, std::size_t p) {
  return last ? x[p * 3 + c] : x[c * 16 + p];
}

TEST(Microsoft, AveragesWithTheChannelsInEitherPlace) {
  for (const bool last : {false, true}) {
    const Operand a = operand(last ? Shape{1, 4, 4, 3} : Shape{1, 3, 4, 4}, 3, 0.021F, 120);
    const std::vector<double> x = a.reals();
    const Inputs inputs =
        inputs_of(a.values(), a.scales(), a.zero(), kResult.scales(), kResult.zero());
    const Attribute place = std::int64_t{last ? 1 : 0};
    std::vector<double> means(3, 0.0);
    std::vector<double> windows(12, 0.0);  // 2 x 2, channels as in the input
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 16; ++p) {
        means[c] += pixel(x, last, c, p) / 16;
        const std::size_t w = p / 8 * 2 + p % 4 / 2;
        windows[last ? w * 3 + c : c * 4 + w] += pixel(x, last, c, p) / 4;
      }
    }
    const Tensor whole =
        std::move(run("QLinearGlobalAveragePool", inputs, {{"channels_last", place}})[0]);
    EXPECT_EQ(whole.shape(), last ? Shape({1, 1, 1, 3}) : Shape({1, 3, 1, 1}));
    expect_quantized(whole, means);
    expect_quantized(
        run("QLinearAveragePool", inputs,
            {{"channels_last", place}, {"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}})[0],
        windows);
  }
}

TEST(Microsoft, CountsThePaddingOfAveragesWhereAsked) {
  const Operand a = operand({1, 1, 1, 2}, 4, 0.021F, 120);
  const std::vector<double> x = a.reals();
  const Inputs inputs =
      inputs_of(a.values(), a.scales(), a.zero(), kResult.scales(), kResult.zero());
  for (const std::int64_t count : {0, 1}) {
    const Attributes attributes = {
        {"kernel_shape", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 0}}, {"count_include_pad", count}};
    expect_quantized(run("QLinearAveragePool", inputs, attributes)[0],
                     {count == 1 ? x[0] / 2 : x[0], (x[0] + x[1]) / 2});
  }
}

TEST(Microsoft, AppliesFunctionsToIntegers) {
  const Operand a = operand({2, 3, 5}, 5, 0.031F, 120);
  const Operand unit{Tensor(DType::kUInt8, {}), 1.0F / 256, 0};
  const Inputs inputs =
      inputs_of(a.values(), a.scales(), a.zero(), kResult.scales(), kResult.zero());
  const Inputs to_unit = inputs_of(a.values(), a.scales(), a.zero(), unit.scales(), unit.zero());
  expect_quantized(run("QLinearSigmoid", to_unit)[0],
                   map(a.reals(), [](double x) { return 1 / (1 + std::exp(-x)); }), unit);
  expect_quantized(run("QLinearLeakyRelu", inputs, {{"alpha", 0.3F}})[0],
                   map(a.reals(), [](double x) { return x < 0 ? 0.3 * x : x; }));
}

TEST(Microsoft, NormalisesRowsAsTheOpsetOfSoftmaxDid) {
  const Operand a = operand({2, 3, 5}, 6, 0.031F, 120);
  const Operand unit{Tensor(DType::kUInt8, {}), 1.0F / 256, 0};
  const Inputs inputs = inputs_of(a.values(), a.scales(), a.zero(), unit.scales(), unit.zero());
  const std::vector<double> x = a.reals();
  const auto expected = [&](std::size_t length) {
    std::vector<double> all;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double sum = 0;
      const std::size_t first = i / length * length;
      for (std::size_t k = first; k < first + length; ++k) sum += std::exp(x[k]);
      all.push_back(std::exp(x[i]) / sum);
    }
    return all;
  };
  expect_quantized(run("QLinearSoftmax", inputs, {{"opset", std::int64_t{13}}})[0], expected(5),
                   unit);
  expect_quantized(
      run("QLinearSoftmax", inputs, {{"opset", std::int64_t{12}}, {"axis", std::int64_t{1}}})[0],
      expected(15), unit);
}

TEST(Microsoft, SelectsAmongTensorsOfDifferentScales) {
  const Operand a = operand({4}, 7, 0.021F, 120);
  const Operand b = operand({4}, 8, 0.013F, 90);
  const OpInput mask = Tensor::of<bool>({4}, {true, false, false, true});
  const Inputs inputs = inputs_of(mask, a.values(), a.scales(), a.zero(), b.values(), b.scales(),
                                  b.zero(), kResult.scales(), kResult.zero());
  expect_quantized(run("QLinearWhere", inputs)[0],
                   {a.reals()[0], b.reals()[1], b.reals()[2], a.reals()[3]});
}

TEST(Microsoft, ConvolvesWithTheChannelsLast) {
  const Operand x = operand({1, 2, 2, 3}, 9, 0.021F, 120);
  const Operand w = operand<std::int8_t>({2, 3, 1, 1}, 10, 0.004F, 0);
  const OpInput bias = constant<std::int32_t>({1500, -900});
  std::vector<double> sums;
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t m = 0; m < 2; ++m) {
      double sum = (m == 0 ? 1500.0 : -900.0) * double{x.scale} * double{w.scale};
      for (std::size_t c = 0; c < 3; ++c) sum += x.reals()[p * 3 + c] * w.reals()[m * 3 + c];
      sums.push_back(sum);
    }
  }
  const Inputs inputs = inputs_of(x.values(), x.scales(), x.zero(), constant(w.integers.clone()),
                                  w.scales(), w.zero(), kResult.scales(), kResult.zero(), bias);
  expect_quantized(run("QLinearConv", inputs, {{"channels_last", std::int64_t{1}}})[0], sums);
}

// ONNX: "the accumulation may overflow if and only if in 32 bits".
TEST(Microsoft, WrapsSumsThatABiasCarriesOutOfInt32) {
  const Operand x{Tensor::of<std::uint8_t>({1, 1, 1, 4}, {0, 100, 150, 255}), 0.001F, 120};
  const OpInput w = constant(Tensor::of<std::int8_t>({2, 1, 1, 1}, {127, -3}));
  const OpInput w_scales = constant<float>({4.7e-5F, 2e-5F});
  const std::vector<std::int64_t> biases{2147483600, -2147483648};
  const OpInput bias = constant<std::int32_t>({2147483600, -2147483647 - 1});
  const Operand result{Tensor(DType::kUInt8, {}), 1.0F, 128};
  std::vector<double> reals;
  for (const std::size_t m : {0U, 1U}) {
    for (const std::int64_t q : to_int64s(x.integers)) {
      const std::int64_t sum = biases[m] + (m == 0 ? 127 : -3) * (q - 120);
      const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
      reals.push_back(wrapped * 0.001 * (m == 0 ? 4.7e-5 : 2e-5));
    }
  }
  EXPECT_LT(*std::ranges::min_element(reals), -40);
  EXPECT_GT(*std::ranges::max_element(reals), 40);
  const Inputs inputs =
      inputs_of(x.values(), x.scales(), x.zero(), w, w_scales, constant<std::int8_t>({0, 0}),
                result.scales(), result.zero(), bias);
  bool integer = false;
  expect_quantized(run("QLinearConv", inputs, {}, 1, &integer)[0], reals, result);
  EXPECT_TRUE(integer);
}

TEST(Microsoft, TakesTheLargestWithTheChannelsLast) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 2, 2, 2}, {1, 80, 2, 70, 3, 60, 4, 50});
  const Tensor y = std::move(
      run("NhwcMaxPool", inputs_of(OpInput(x.clone())), {{"kernel_shape", Ints{2, 2}}})[0]);
  EXPECT_EQ(y.shape(), Shape({1, 1, 1, 2}));
  EXPECT_EQ(to_int64s(y), (Ints{4, 80}));
}

// ---- products ----

struct Product {
  Operand a = operand({2, 4}, 11, 0.021F, 120);
  Tensor b = random_integers<std::int8_t>({4, 3}, 12);
  std::vector<float> scales{0.004F, 0.01F, 0.02F};

  // The product alpha a b. add[n] is added to the sums of column n.
  [[nodiscard]] std::vector<double> result(double alpha, const std::vector<double>& add) const {
    const std::vector<std::int64_t> weights = to_int64s(b);
    std::vector<double> all;
    for (std::size_t m = 0; m < 2; ++m) {
      for (std::size_t n = 0; n < 3; ++n) {
        double sum = add[n] * double{a.scale};
        for (std::size_t k = 0; k < 4; ++k) {
          sum += a.reals()[m * 4 + k] * static_cast<double>(weights[k * 3 + n]);
        }
        all.push_back(alpha * sum * double{scales[n]});
      }
    }
    return all;
  }
  [[nodiscard]] OpInput column_scales() const {
    return constant(Tensor::of<float>({3}, std::span<const float>(scales)));
  }
  [[nodiscard]] Inputs gemm(const OpInput& addend) const {
    return inputs_of(a.values(), a.scales(), a.zero(), constant(b.clone()), column_scales(),
                     constant<std::int8_t>({0, 0, 0}), addend, kResult.scales(), kResult.zero());
  }
};

TEST(Microsoft, MultipliesQuantizedMatrices) {
  const Product p;
  const OpInput none;
  const OpInput row = constant<std::int32_t>({700, -800, 90});
  const std::vector<double> add{700, -800, 90};
  bool integer = false;
  expect_quantized(run("QGemm", p.gemm(row), {}, 1, &integer)[0], p.result(1, add));
  EXPECT_TRUE(integer);
  expect_quantized(run("QGemm", p.gemm(none))[0], p.result(1, {0, 0, 0}));
  expect_quantized(run("QGemm", p.gemm(row), {{"alpha", 0.5F}})[0], p.result(0.5, add));
  const OpInput matrix = constant(Tensor::of<std::int32_t>({1, 3}, {700, -800, 90}));
  expect_quantized(run("QGemm", p.gemm(matrix))[0], p.result(1, add));
  const OpInput number = constant(Tensor::scalar(std::int32_t{500}));
  expect_quantized(run("QGemm", p.gemm(number))[0], p.result(1, {500, 500, 500}));
  const OpInput one_zero = constant<std::int8_t>({0});
  expect_quantized(run("QGemm", inputs_of(p.a.values(), p.a.scales(), p.a.zero(),
                                          constant(p.b.clone()), p.column_scales(), one_zero, row,
                                          kResult.scales(), kResult.zero()))[0],
                   p.result(1, add));
  const OpInput computed = Tensor::of<std::int32_t>({3}, {700, -800, 90});
  expect_quantized(run("QGemm", p.gemm(computed))[0], p.result(1, add));
}

TEST(Microsoft, MultipliesTransposedMatricesToReals) {
  const Product p;
  Tensor transposed(DType::kInt8, {3, 4});
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t n = 0; n < 3; ++n) {
      transposed.values<std::int8_t>()[n * 4 + k] = p.b.values<std::int8_t>()[k * 3 + n];
    }
  }
  const OpInput b = constant(std::move(transposed));
  const Inputs inputs = inputs_of(p.a.values(), p.a.scales(), p.a.zero(), b, p.column_scales(),
                                  constant<std::int8_t>({0, 0, 0}));
  expect_reals(run("QGemm", inputs, {{"transB", std::int64_t{1}}})[0], p.result(1, {0, 0, 0}));
}

TEST(Microsoft, ScalesSumsOfIntegers) {
  const Product p;
  const OpInput bias = constant<float>({0.5F, -1.5F, 2.0F});
  std::vector<double> expected = p.result(1, {0, 0, 0});
  for (std::size_t i = 0; i < 6; ++i) expected[i] += std::vector{0.5, -1.5, 2.0}[i % 3];
  const OpInput none;
  bool integer = false;
  expect_reals(run("MatMulIntegerToFloat",
                   inputs_of(p.a.values(), constant(p.b.clone()), p.a.scales(), p.column_scales(),
                             p.a.zero(), none, bias),
                   {}, 1, &integer)[0],
               expected);
  EXPECT_TRUE(integer);
}

// The input is quantized to uint8 over its range, widened to contain 0, as DynamicQuantizeLinear
// defines it.
TEST(Microsoft, QuantizesTheFirstMatrixWhileItRuns) {
  const Product p;
  const Tensor x = Tensor::of<float>({2, 4}, {-1.0F, 0.3F, 0.77F, 1.55F, 0.1F, -0.2F, 1.0F, 0.0F});
  const double scale = 2.55 / 255;  // of -1 to 1.55
  const std::vector<std::int64_t> weights = to_int64s(p.b);
  std::vector<double> expected;
  for (std::size_t m = 0; m < 2; ++m) {
    for (std::size_t n = 0; n < 3; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        sum += std::nearbyint(doubles(x)[m * 4 + k] / scale) *
               static_cast<double>(weights[k * 3 + n] - 7);
      }
      expected.push_back(sum * scale * double{p.scales[n]});
    }
  }
  const Inputs inputs = inputs_of(OpInput(x.clone()), constant(p.b.clone()), p.column_scales(),
                                  constant<std::int8_t>({7, 7, 7}));
  expect_reals(run("DynamicQuantizeMatMul", inputs)[0], expected);
}

TEST(Microsoft, QuantizesAlongAnAxisOnlyWhereOneIsNamed) {
  const Tensor x = random_tensor({2, 3});
  const OpInput scales = constant<float>({0.1F, 0.2F, 0.3F});
  const OpInput zeros = constant<std::int8_t>({1, 2, 3});
  const Inputs inputs = inputs_of(OpInput(x.clone()), scales, zeros);
  const Tensor q = std::move(run("QuantizeLinear", inputs, {{"axis", std::int64_t{1}}})[0]);
  for (std::size_t i = 0; i < 6; ++i) {
    const double scale = std::vector{0.1F, 0.2F, 0.3F}[i % 3];
    EXPECT_NEAR(static_cast<double>(to_int64s(q)[i]),
                doubles(x)[i] / scale + 1.0 + static_cast<double>(i % 3), 0.5001);
  }
  const Tensor back =
      std::move(run("DequantizeLinear", inputs_of(OpInput(q.clone()), scales, zeros),
                    {{"axis", std::int64_t{1}}})[0]);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(doubles(back)[i], doubles(x)[i], 0.1501);
  }
  EXPECT_THAT(refusal("QuantizeLinear", inputs), HasSubstr("has 3 elements, expected 1"));
}

TEST(Microsoft, QuantizesTo16Bits) {
  const Tensor x = random_tensor({40}, -2.0F, 2.0F);
  const OpInput scale = constant<float>({5e-5F});
  const auto expect = [&](const OpInput& zero, double low, double high, double zero_point) {
    const Tensor q =
        std::move(run("QuantizeLinear", inputs_of(OpInput(x.clone()), scale, zero))[0]);
    EXPECT_EQ(q.dtype(), zero.tensor->dtype());
    std::vector<double> back;
    for (std::size_t i = 0; i < 40; ++i) {
      const auto integer = static_cast<double>(to_int64s(q)[i]);
      EXPECT_NEAR(integer, std::clamp(doubles(x)[i] / 5e-5 + zero_point, low, high), 0.51);
      back.push_back((integer - zero_point) * 5e-5);
    }
    const Inputs inputs = inputs_of(OpInput(q.clone()), scale, zero);
    expect_reals(run("DequantizeLinear", inputs)[0], back);
  };
  expect(constant<std::uint16_t>({30000}), 0, 65535, 30000);
  expect(constant<std::int16_t>({-700}), -32768, 32767, -700);
}

}  // namespace
}  // namespace qtool::microsoft
