// FP32 convolutions and matrix products that threads divide among themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/onednn/onednn.h"
#include "support/random_cases.h"

namespace qtool::onednn {
namespace {

// The largest difference between numbers of threads, as a share of the result's largest magnitude.
// oneDNN may choose another kernel for a part than for the whole, and that kernel adds in another
// order.
constexpr float kThreadDifference = 1e-5F;
constexpr std::int64_t kWorthDividing = 1 << 15;  // products; fewer are not divided
constexpr int kThreadRounds = 100;

constexpr unsigned kSeed = 11;

std::byte* workspace_bytes_of(Tensor& tensor) { return static_cast<std::byte*>(tensor.data()); }

template <typename Operation>
Tensor workspace_of(const Operation& operation) {
  return Tensor(DType::kInt8, Shape{operation.workspace_bytes()});
}

float difference(const Tensor& a, const Tensor& b) {
  float largest = 0.0F;
  float most = 0.0F;
  const auto x = a.values<float>();
  const auto y = b.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i]));
    most = std::max(most, std::abs(x[i] - y[i]));
  }
  return most / largest;
}

TEST(Threads, LeaveConvolutionsEqualToTheLastBits) {
  RandomCases random(kSeed);
  int compared = 0;
  for (int round = 0; round < kThreadRounds; ++round) {
    ConvSpec spec;
    const std::int64_t kernel = random.between(1, 4);
    const std::int64_t stride = random.between(1, 2);
    const std::int64_t pad = random.between(0, kernel / 2);
    const auto extent = [&](std::int64_t in) { return (in + 2 * pad - kernel) / stride + 1; };
    const std::int64_t images = random.between(1, 3);
    spec.groups = random.one_in(3) ? random.between(2, 40) : 1;
    const std::int64_t inner = spec.groups > 1 ? random.between(1, 4) : random.between(1, 400);
    const std::int64_t outputs = spec.groups * random.between(1, spec.groups > 1 ? 4 : 300);
    spec.source =
        Shape{images, spec.groups * inner, random.between(kernel, 20), random.between(kernel, 20)};
    spec.destination = Shape{images, outputs, extent(spec.source[2]), extent(spec.source[3])};
    spec.weights = Shape{outputs, inner, kernel, kernel};
    spec.window = {.kernel = {kernel, kernel},
                   .strides = {stride, stride},
                   .dilations = {1, 1},
                   .pads_begin = {pad, pad},
                   .pads_end = {pad, pad},
                   .output = {spec.destination[2], spec.destination[3]}};
    spec.layout = random.one_in(5) ? Layout::kPlain : Layout::kChannelsLast;
    spec.bias = random.one_in(2);
    spec.residual = random.one_in(3);
    const std::int64_t terms = inner * kernel * kernel;
    const float deviation = std::sqrt(static_cast<float>(terms)) / 3.0F;  // of a sum
    if (random.one_in(2)) spec.clamp = Clamp{-deviation, deviation};
    if (spec.destination.elements() * terms < kWorthDividing) continue;
    Tensor source = random.reals(spec.source);
    Tensor weights = random.reals(spec.weights);
    Tensor bias = random.reals({outputs});
    Tensor residual = random.reals(spec.destination);
    const auto result = [&](int threads) {
      const std::unique_ptr<const Convolution> made = make_convolution(spec, threads);
      const Convolution& convolution = *made;
      Tensor destination(DType::kFloat32, spec.destination);
      Tensor workspace = workspace_of(convolution);
      const PackedPtr packed = convolution.pack(weights.values<float>().data(),
                                                spec.bias ? bias.values<float>().data() : nullptr);
      convolution.run(source.values<float>().data(), *packed,
                      spec.residual ? residual.values<float>().data() : nullptr,
                      destination.values<float>().data(), workspace_bytes_of(workspace));
      return destination;
    };
    const Tensor whole = result(1);
    for (const int threads : {2, 3, 4}) {
      EXPECT_LE(difference(whole, result(threads)), kThreadDifference)
          << spec.source.to_string() << " by " << spec.weights.to_string() << " in " << spec.groups
          << " groups, " << threads << " threads";
    }
    ++compared;
  }
  EXPECT_GT(compared, kThreadRounds / 2);
}

TEST(Threads, LeaveProductsEqualToTheLastBits) {
  RandomCases random(kSeed);
  int compared = 0;
  for (int round = 0; round < kThreadRounds; ++round) {
    MatmulSpec spec;
    const std::int64_t stack = random.one_in(4) ? random.between(2, 5) : 0;
    const std::int64_t m = random.one_in(3) ? 1 : random.between(1, 60);
    const std::int64_t k = random.between(1, 1500);
    const std::int64_t n = random.between(1, 300);
    const auto shape = [&](std::int64_t rows, std::int64_t columns) {
      return stack > 0 ? Shape{stack, rows, columns} : Shape{rows, columns};
    };
    spec.a = shape(m, k);
    spec.b = shape(k, n);
    spec.destination = shape(m, n);
    spec.transposed_a = random.one_in(4);
    spec.transposed_b = random.one_in(2);
    spec.bias = stack == 0 && random.one_in(2);
    spec.alpha = random.one_in(4) ? 0.5F : 1.0F;
    if (spec.destination.elements() * k < kWorthDividing) continue;
    Tensor a = random.reals(spec.a);
    Tensor b = random.reals(spec.b);
    Tensor bias = random.reals({n});
    const auto result = [&](int threads) {
      const Matmul product(spec, threads);
      Tensor destination(DType::kFloat32, spec.destination);
      Tensor workspace = workspace_of(product);
      const PackedPtr packed =
          product.pack(b.values<float>().data(), spec.bias ? bias.values<float>().data() : nullptr);
      product.run(a.values<float>().data(), *packed, destination.values<float>().data(),
                  workspace_bytes_of(workspace));
      return destination;
    };
    const Tensor whole = result(1);
    for (const int threads : {2, 3, 4}) {
      EXPECT_LE(difference(whole, result(threads)), kThreadDifference)
          << spec.a.to_string() << " by " << spec.b.to_string() << ", " << threads << " threads";
    }
    ++compared;
  }
  EXPECT_GT(compared, kThreadRounds / 2);
}

}  // namespace
}  // namespace qtool::onednn
