// Compares Conv with its definition in difficult cases of layouts, threads and padding.
#include <gtest/gtest.h>

#include "unit/run_op.h"

namespace qtool {
namespace {

using tests::constant;
using tests::OpCase;
using tests::random_tensor;
using tests::run_op;
using Ints = std::vector<std::int64_t>;

struct ConvLayer {
  std::int64_t inputs, outputs, height, width, kernel_h, kernel_w, dilation;
  Ints pads;  // top, left, bottom, right
};

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// ONNX's Conv of one image with stride 1, in double.
std::vector<double> definition(const ConvLayer& layer, const Tensor& x, const Tensor& w,
                               const Shape& out) {
  std::vector<double> y;
  for (std::int64_t m = 0; m < layer.outputs; ++m) {
    for (std::int64_t pixel = 0; pixel < out[2] * out[3]; ++pixel) {
      double sum = 0.0;
      for (std::int64_t tap = 0; tap < layer.kernel_h * layer.kernel_w; ++tap) {
        const std::int64_t row =
            pixel / out[3] + tap / layer.kernel_w * layer.dilation - layer.pads[0];
        const std::int64_t column =
            pixel % out[3] + tap % layer.kernel_w * layer.dilation - layer.pads[1];
        if (row < 0 || row >= layer.height || column < 0 || column >= layer.width) continue;
        for (std::int64_t c = 0; c < layer.inputs; ++c) {
          const std::int64_t source = (c * layer.height + row) * layer.width + column;
          const std::int64_t weight =
              (m * layer.inputs + c) * layer.kernel_h * layer.kernel_w + tap;
          sum += static_cast<double>(x.values<float>()[at(source)]) *
                 static_cast<double>(w.values<float>()[at(weight)]);
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

// oneDNN's fastest kernel left out taps where the padding on the right reaches half of the result.
TEST(Conv, EqualsItsDefinitionWherePaddingIsWide) {
  const ConvLayer layers[] = {
      {6, 64, 5, 7, 5, 5, 1, {2, 0, 4, 4}},   {4, 64, 3, 7, 1, 5, 2, {0, 4, 0, 4}},
      {8, 128, 4, 9, 2, 6, 2, {5, 5, 1, 5}},  {3, 192, 5, 15, 1, 9, 2, {0, 8, 0, 8}},
      {5, 64, 7, 7, 3, 3, 4, {4, 4, 4, 4}},   {2, 64, 4, 11, 3, 7, 2, {2, 6, 2, 6}},
      {7, 144, 5, 7, 5, 5, 1, {2, 0, 4, 4}},  {5, 48, 6, 6, 3, 3, 1, {1, 1, 1, 1}},
      {4, 64, 6, 15, 1, 9, 2, {0, 15, 0, 1}}, {4, 64, 6, 7, 5, 5, 2, {4, 0, 4, 8}},
      {4, 64, 4, 8, 5, 5, 2, {4, 4, 4, 4}},
  };
  for (const ConvLayer& layer : layers) {
    const Tensor x = random_tensor({1, layer.inputs, layer.height, layer.width}, -1, 1, 1);
    const Tensor w =
        random_tensor({layer.outputs, layer.inputs, layer.kernel_h, layer.kernel_w}, -1, 1, 2);
    for (const int threads : {1, 2}) {
      OpCase test{"Conv", {}, {{"pads", layer.pads}}, 1};
      test.attributes["dilations"] = Ints{layer.dilation, layer.dilation};
      test.inputs.emplace_back(random_tensor(x.shape(), -1, 1, 1));
      test.inputs.push_back(constant(random_tensor(w.shape(), -1, 1, 2)));
      const Tensor y = std::move(run_op(test, Layout::kChannelsLast, threads)[0]);
      const std::vector<double> expected = definition(layer, x, w, y.shape());
      ASSERT_EQ(y.elements(), std::ssize(expected));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(y.values<float>()[i], expected[i], 1e-4)
            << layer.outputs << " outputs, width " << layer.width << ", " << threads << " threads";
      }
    }
  }
}

// Rank-4 weights that another node computes come channels-last, as images do.
TEST(Conv, ReadsComputedWeightsInEitherLayout) {
  for (const std::int64_t groups : {1, 2}) {
    OpCase test{"Conv", {}, {{"group", groups}}, 1};
    test.inputs.emplace_back(random_tensor({1, 4, 6, 5}, -1, 1, 1));
    test.inputs.emplace_back(random_tensor({6, 4 / groups, 3, 2}, -1, 1, 2));
    const Tensor plain = std::move(run_op(test)[0]);
    const Tensor last = std::move(run_op(test, Layout::kChannelsLast)[0]);
    for (std::int64_t i = 0; i < plain.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_NEAR(plain.values<float>()[at], last.values<float>()[at], 1e-5) << groups;
    }
  }
}

}  // namespace
}  // namespace qtool
