// Compares FP32 convolutions of oneDNN with their definition, including all fused operations. CTest
// also runs these tests on older instruction sets, because each set has its own implementations;
// see tests/CMakeLists.txt.
#include "ops/onednn/onednn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/random_cases.h"

namespace qtool::onednn {
namespace {

constexpr int kRounds = 300;
// The largest error of float sums of at most 1,120 products of numbers up to 1.
constexpr double kMaxDifference = 1e-4;

ConvSpec random_spec(RandomCases& random) {
  ConvSpec spec;
  const std::int64_t kernel = random.between(1, 4);
  const std::int64_t stride = random.between(1, 2);
  const std::int64_t pad = random.between(0, kernel / 2);
  const std::int64_t most = 2 * random.between(0, 1) * 30 + 9;  // channels of a group: few, or many
  spec.groups = random.one_in(3) ? random.between(2, 20) : 1;
  const std::int64_t inputs = random.between(1, spec.groups > 1 ? 9 : most);
  const std::int64_t outputs = spec.groups * random.between(1, spec.groups > 1 ? 9 : most);
  const std::int64_t images = random.between(1, 2);
  const std::int64_t rows = random.between(kernel, 12);
  const std::int64_t columns = random.between(kernel, 12);
  const auto extent = [&](std::int64_t in) { return (in + 2 * pad - kernel) / stride + 1; };
  spec.source = Shape{images, spec.groups * inputs, rows, columns};
  spec.weights = Shape{outputs, inputs, kernel, kernel};
  spec.destination = Shape{images, outputs, extent(rows), extent(columns)};
  spec.window = {.kernel = {kernel, kernel},
                 .strides = {stride, stride},
                 .dilations = {1, 1},
                 .pads_begin = {pad, pad},
                 .pads_end = {pad, pad},
                 .output = {extent(rows), extent(columns)}};
  spec.layout = random.one_in(4) ? Layout::kPlain : Layout::kChannelsLast;
  spec.bias = random.one_in(2);
  if (random.one_in(4)) {
    spec.function = FusedFunction{FusedFunction::Kind::kSilu};
    return spec;
  }
  spec.residual = random.one_in(2);
  if (random.one_in(2)) spec.clamp = Clamp{-0.5F, 0.7F};
  return spec;
}

std::size_t offset(const Shape& shape, Layout layout, std::int64_t n, std::int64_t c,
                   std::int64_t row, std::int64_t column) {
  const std::int64_t at = layout == Layout::kPlain
                              ? ((n * shape[1] + c) * shape[2] + row) * shape[3] + column
                              : ((n * shape[2] + row) * shape[3] + column) * shape[1] + c;
  return static_cast<std::size_t>(at);
}

double fused(const ConvSpec& spec, double sum) {
  if (spec.function) return sum / (1.0 + std::exp(-sum));
  if (!spec.clamp) return sum;
  return std::clamp(sum, double{spec.clamp->min}, double{spec.clamp->max});
}

// The sum of products of one element of the result.
double sum_of(const ConvSpec& spec, const Tensor& source, const Tensor& weights, std::int64_t n,
              std::int64_t m, std::int64_t row, std::int64_t column) {
  const std::int64_t inputs = spec.weights[1];
  const std::int64_t first = m / (spec.weights[0] / spec.groups) * inputs;
  const std::int64_t kernel = spec.weights[2];
  const std::int64_t stride = spec.window.strides[0];
  const std::int64_t pad = spec.window.pads_begin[0];
  double sum = 0.0;
  for (std::int64_t i = 0; i < inputs * kernel * kernel; ++i) {
    const std::int64_t c = i / (kernel * kernel);
    const std::int64_t y = row * stride - pad + i / kernel % kernel;
    const std::int64_t x = column * stride - pad + i % kernel;
    if (y < 0 || x < 0 || y >= spec.source[2] || x >= spec.source[3]) continue;
    const auto weight = static_cast<std::size_t>(m * inputs * kernel * kernel + i);
    sum += double{source.values<float>()[offset(spec.source, spec.layout, n, first + c, y, x)]} *
           double{weights.values<float>()[weight]};
  }
  return sum;
}

TEST(OneDnn, ConvolvesAsDefined) {
  RandomCases random(5);
  for (int round = 0; round < kRounds; ++round) {
    const ConvSpec spec = random_spec(random);
    const Tensor source = random.reals(spec.source);
    const Tensor weights = random.reals(spec.weights);
    const Tensor bias = random.reals({spec.weights[0]});
    const Tensor residual = random.reals(spec.destination);
    for (const int threads : {1, 3}) {
      const Convolution convolution(spec, threads);
      Tensor found(DType::kFloat32, spec.destination);
      Tensor workspace(DType::kInt8, Shape{convolution.workspace_bytes()});
      const PackedPtr packed = convolution.pack(weights.values<float>().data(),
                                                spec.bias ? bias.values<float>().data() : nullptr);
      convolution.run(source.values<float>().data(), *packed,
                      spec.residual ? residual.values<float>().data() : nullptr,
                      found.values<float>().data(), static_cast<std::byte*>(workspace.data()));
      double worst = 0.0;
      for (std::int64_t i = 0; i < spec.destination.elements(); ++i) {
        const Shape& y = spec.destination;
        const std::int64_t column = i % y[3];
        const std::int64_t row = i / y[3] % y[2];
        const std::int64_t m = i / (y[3] * y[2]) % y[1];
        const std::int64_t n = i / (y[3] * y[2] * y[1]);
        const std::size_t at = offset(y, spec.layout, n, m, row, column);
        double sum = sum_of(spec, source, weights, n, m, row, column);
        if (spec.bias) sum += double{bias.values<float>()[static_cast<std::size_t>(m)]};
        if (spec.residual) sum += double{residual.values<float>()[at]};
        worst = std::max(worst, std::abs(fused(spec, sum) - double{found.values<float>()[at]}));
      }
      EXPECT_LE(worst, kMaxDifference)
          << convolution.implementation() << ": " << spec.source.to_string() << " by "
          << spec.weights.to_string() << " in " << spec.groups << " groups, " << threads
          << " threads, " << (spec.residual ? "with" : "without") << " residual";
    }
  }
}

}  // namespace
}  // namespace qtool::onednn
