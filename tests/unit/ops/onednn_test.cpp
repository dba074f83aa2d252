// Compares FP32 convolutions of oneDNN with their definition, including all fused operations. CTest
// also runs these tests on older instruction sets, because each set has its own implementations;
// see tests/CMakeLists.txt.
#include "ops/onednn/onednn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support/random_cases.h"

namespace qtool::onednn {
namespace {

constexpr int kRounds = 300;
// The largest error of float sums of at most 1,120 products of numbers up to 1.
constexpr double kMaxDifference = 1e-4;
constexpr double kMaxDifferenceOfWinograd = 2e-4;  // it rounds more often

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
  double sum = 0.0;
  for (std::int64_t i = 0; i < inputs * kernel * kernel; ++i) {
    const std::int64_t c = i / (kernel * kernel);
    const std::int64_t y = row * stride - spec.window.pads_begin[0] + i / kernel % kernel;
    const std::int64_t x = column * stride - spec.window.pads_begin[1] + i % kernel;
    if (y < 0 || x < 0 || y >= spec.source[2] || x >= spec.source[3]) continue;
    const std::size_t weight =
        offset(spec.weights, spec.weights_layout, m, c, i / kernel % kernel, i % kernel);
    sum += double{source.values<float>()[offset(spec.source, spec.layout, n, first + c, y, x)]} *
           double{weights.values<float>()[weight]};
  }
  return sum;
}

bool is_winograd(const std::string& implementation) {
  return implementation.starts_with("winograd");
}

// Compares the convolution on random numbers with its definition. Returns the implementation.
std::string expect_as_defined(const ConvSpec& spec, int threads, RandomCases& random) {
  const Tensor source = random.reals(spec.source);
  const Tensor weights = random.reals(spec.weights);
  const Tensor bias = random.reals({spec.weights[0]});
  const Tensor residual = random.reals(spec.destination);
  const std::unique_ptr<const Convolution> made = make_convolution(spec, threads);
  const Convolution& convolution = *made;
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
  EXPECT_LE(worst,
            is_winograd(convolution.implementation()) ? kMaxDifferenceOfWinograd : kMaxDifference)
      << convolution.implementation() << ": " << spec.source.to_string() << " by "
      << spec.weights.to_string() << " in " << spec.groups << " groups, " << threads << " threads, "
      << (spec.residual ? "with" : "without") << " residual";
  return convolution.implementation();
}

TEST(OneDnn, ConvolvesAsDefined) {
  RandomCases random(5);
  for (int round = 0; round < kRounds; ++round) {
    const ConvSpec spec = random_spec(random);
    for (const int threads : {1, 3}) expect_as_defined(spec, threads, random);
  }
}

// A layer that Winograd's method suits.
ConvSpec random_3x3(RandomCases& random, std::int64_t images) {
  ConvSpec spec;
  const std::int64_t rows = random.between(14, 30);
  const std::int64_t columns = random.between(14, 30);
  const std::int64_t inputs = random.between(32, 80);
  const std::int64_t outputs = random.between(64, 80);
  const auto pad = [&] { return random.one_in(5) ? random.between(2, 6) : random.between(0, 1); };
  spec.source = Shape{images, inputs, rows, columns};
  spec.weights = Shape{outputs, inputs, 3, 3};
  spec.window = {.kernel = {3, 3},
                 .strides = {1, 1},
                 .dilations = {1, 1},
                 .pads_begin = {pad(), pad()},
                 .pads_end = {pad(), pad()},
                 .output = {}};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    spec.window.output.push_back(spec.source[static_cast<std::int64_t>(axis) + 2] - 2 +
                                 spec.window.pads_begin[axis] + spec.window.pads_end[axis]);
  }
  spec.destination = Shape{images, outputs, spec.window.output[0], spec.window.output[1]};
  spec.layout = Layout::kChannelsLast;
  spec.weights_layout = random.one_in(3) ? Layout::kChannelsLast : Layout::kPlain;
  spec.bias = random.one_in(2);
  spec.residual = random.one_in(2);
  if (random.one_in(2)) spec.clamp = Clamp{0.0F, std::numeric_limits<float>::infinity()};
  if (random.one_in(4)) spec.clamp = Clamp{-1.0F, 6.0F};
  return spec;
}

TEST(OneDnn, TakesWinogradOnlyWhereItAppliesAndPays) {
  struct Layer {
    std::int64_t rows = 20;
    std::int64_t columns = 20;
    std::int64_t channels = 64;
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t groups = 1;
  };
  const auto spec_of = [](const Layer& layer) {
    ConvSpec spec;
    const std::int64_t reach = (layer.kernel - 1) * layer.dilation;
    const auto extent = [&](std::int64_t in) { return (in + 2 - reach - 1) / layer.stride + 1; };
    spec.source = Shape{1, layer.channels, layer.rows, layer.columns};
    spec.weights = Shape{layer.channels, layer.channels / layer.groups, layer.kernel, layer.kernel};
    spec.window = {.kernel = {layer.kernel, layer.kernel},
                   .strides = {layer.stride, layer.stride},
                   .dilations = {layer.dilation, layer.dilation},
                   .pads_begin = {1, 1},
                   .pads_end = {1, 1},
                   .output = {extent(layer.rows), extent(layer.columns)}};
    spec.destination = Shape{1, layer.channels, spec.window.output[0], spec.window.output[1]};
    spec.layout = Layout::kChannelsLast;
    spec.groups = layer.groups;
    return spec;
  };
  const auto takes = [](const ConvSpec& spec) {
    return is_winograd(make_convolution(spec, 1)->implementation());
  };
  EXPECT_TRUE(takes(spec_of({})));
  EXPECT_FALSE(takes(spec_of({.kernel = 5})));
  EXPECT_FALSE(takes(spec_of({.stride = 2})));
  EXPECT_FALSE(takes(spec_of({.dilation = 2})));
  EXPECT_FALSE(takes(spec_of({.groups = 2})));
  EXPECT_FALSE(takes(spec_of({.channels = 16})));
  EXPECT_FALSE(takes(spec_of({.channels = 640})));
  EXPECT_FALSE(takes(spec_of({.rows = 7, .columns = 7})));
  EXPECT_FALSE(takes(spec_of({.rows = 1, .columns = 80})));
  ConvSpec spec = spec_of({});
  spec.packs_once = false;
  EXPECT_FALSE(takes(spec));
  spec = spec_of({});
  spec.layout = Layout::kPlain;
  EXPECT_FALSE(takes(spec));
  spec = spec_of({});
  spec.function = FusedFunction{FusedFunction::Kind::kSilu};
  EXPECT_FALSE(takes(spec));
}

TEST(OneDnn, ConvolvesByWinogradAsDefined) {
  RandomCases random(6);
  int by_winograd = 0;
  for (int round = 0; round < 6; ++round) {
    const ConvSpec spec = random_3x3(random, random.between(1, 2));
    for (const int threads : {1, 3}) {
      by_winograd += is_winograd(expect_as_defined(spec, threads, random)) ? 1 : 0;
    }
  }
  EXPECT_EQ(by_winograd, 12);
}

// The tiles of Winograd's method must not depend on how the work is divided: float results are the
// same bits whatever the threads and the batch. Some numbers are NaN, which a clamp must keep.
TEST(OneDnn, ConvolvesTheSameOnAnyThreadsAndBatch) {
  RandomCases random(7);
  int by_winograd = 0;
  for (int round = 0; round < 40; ++round) {
    constexpr std::int64_t kImages = 3;
    ConvSpec spec = random_3x3(random, kImages);
    Tensor source = random.reals(spec.source);
    const Tensor weights = random.reals(spec.weights);
    const Tensor bias = random.reals({spec.weights[0]});
    const Tensor residual = random.reals(spec.destination);
    if (random.one_in(4)) source.values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    const auto images_at_once = [&](std::int64_t images, int threads) {
      const auto with = [&](const Shape& shape) {
        return Shape{images, shape[1], shape[2], shape[3]};
      };
      ConvSpec some = spec;
      some.source = with(spec.source);
      some.destination = with(spec.destination);
      const std::unique_ptr<const Convolution> made = make_convolution(some, threads);
      const Convolution& convolution = *made;
      by_winograd += is_winograd(convolution.implementation()) ? 1 : 0;
      const PackedPtr packed = convolution.pack(weights.values<float>().data(),
                                                spec.bias ? bias.values<float>().data() : nullptr);
      Tensor workspace(DType::kInt8, Shape{convolution.workspace_bytes()});
      Tensor result(DType::kFloat32, spec.destination);
      for (std::int64_t image = 0; image + images <= kImages; image += images) {
        const std::int64_t at = image * (spec.destination.elements() / kImages);
        convolution.run(source.values<float>().data() + image * (spec.source.elements() / kImages),
                        *packed, spec.residual ? residual.values<float>().data() + at : nullptr,
                        result.values<float>().data() + at,
                        static_cast<std::byte*>(workspace.data()));
      }
      return result;
    };
    const Tensor expected = images_at_once(1, 1);
    for (const int threads : {1, 2, 3, 4, 7, 13}) {
      for (const std::int64_t images : {std::int64_t{1}, kImages}) {
        const Tensor found = images_at_once(images, threads);
        std::int64_t different = 0;
        for (std::size_t i = 0; i < found.values<float>().size(); ++i) {
          const float a = found.values<float>()[i];
          const float b = expected.values<float>()[i];
          const bool same = std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
          different += same ? 0 : 1;
        }
        EXPECT_EQ(different, 0) << images << " images, " << threads
                                << " threads: " << spec.source.to_string() << " by "
                                << spec.weights.to_string();
      }
    }
    EXPECT_EQ(std::isnan(source.values<float>()[0]),
              std::ranges::any_of(expected.values<float>(), [](float x) { return std::isnan(x); }));
  }
  EXPECT_EQ(by_winograd, 40 * 13);
}

}  // namespace
}  // namespace qtool::onednn
