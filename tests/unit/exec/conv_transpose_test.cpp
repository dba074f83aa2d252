// Compares the integer ConvTranspose with naive sums by ONNX's definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "quant/requantize.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr float kInputScale = 0.03F;
constexpr int kInputZero = 113;
constexpr float kOutputScale = 0.4F;
constexpr int kOutputZero = 101;

struct UpsamplingLayer {
  Shape x;
  Shape w;  // [C, M / groups, kh, kw]
  std::int64_t groups = 1;
  Ints strides = {1, 1};
  Ints pads = {0, 0, 0, 0};
  Ints dilations = {1, 1};
  Ints output_padding = {0, 0};
  int weight_zero = 0;
};

const UpsamplingLayer kUpsamplingLayers[] = {
    {{1, 24, 5, 7}, {24, 20, 2, 2}, 1, {2, 2}},
    {{2, 5, 6, 4}, {5, 7, 3, 3}, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
    {{1, 16, 4, 5}, {16, 18, 4, 4}, 1, {2, 2}, {1, 1, 1, 1}},
    {{1, 70, 3, 5}, {70, 1, 4, 3}, 70, {2, 3}, {1, 0, 1, 1}},  // depthwise
    {{1, 6, 4, 5}, {6, 4, 3, 2}, 3, {1, 2}, {0, 1, 2, 0}, {2, 1}},
    {{1, 4, 5, 5}, {4, 3, 2, 3}, 1, {3, 2}, {0, 0, 0, 0}, {1, 3}},  // outputs without a tap
    {{1, 3, 6, 6}, {3, 5, 2, 2}, 1, {2, 2}, {3, 4, 2, 1}},          // padding beyond the window
    {{1, 3, 4, 4}, {3, 5, 2, 2}, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}, {5, 3}},
    {{1, 8, 1, 9}, {8, 6, 1, 5}, 1, {1, 4}, {0, 2, 0, 1}, {1, 2}},
    {{1, 12, 5, 4}, {12, 6, 3, 3}, 1, {2, 2}, {1, 1, 0, 0}, {1, 1}, {0, 0}, 9},
};

struct UpsamplingCase {
  Graph graph;
  std::vector<int> x;  // integers of the input that run() is given
  std::vector<int> w;
  std::vector<float> scales;  // by output channel of a group
  std::vector<int> bias;
};

// A graph with the node. Its output is float, or it is followed by a Relu and quantized.
UpsamplingCase upsampling_case(const UpsamplingLayer& layer, bool quantized) {
  UpsamplingCase made;
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t count, int low, int high) {
    std::vector<int> values;
    std::uniform_int_distribution<int> one(low, high);
    for (std::int64_t i = 0; i < count; ++i) values.push_back(one(random));
    return values;
  };
  made.x = draw(layer.x.elements(), 0, 255);
  made.w = draw(layer.w.elements(), -127, 127);
  const std::int64_t channels = layer.w[1] * layer.groups;
  made.bias = draw(channels, -20000, 20000);
  for (std::int64_t m = 0; m < layer.w[1]; ++m) {
    made.scales.push_back(0.001F * static_cast<float>(m + 1));
  }
  Net net;
  const ValueId x = net.graph.add_value("x");
  std::vector<Dim> dims;
  for (const std::int64_t dim : layer.x.dims()) dims.push_back({dim, {}});
  net.graph.declare(x, DType::kFloat32, dims);
  net.graph.add_input(x);
  net.constant("s", Tensor::scalar(kInputScale));
  net.constant("z", Tensor::scalar(static_cast<std::uint8_t>(kInputZero)));
  const auto xq = net.op("QuantizeLinear", "xq", {"x", "s", "z"});
  const auto xd = net.op("DequantizeLinear", "xd", {xq, "s", "z"});
  Tensor weights(DType::kInt8, layer.w);
  std::transform(made.w.begin(), made.w.end(), weights.values<std::int8_t>().begin(),
                 [](int v) { return static_cast<std::int8_t>(v); });
  net.constant("w_q", std::move(weights));
  net.constant("w_s", Tensor::of<float>({layer.w[1]}, std::span<const float>(made.scales)));
  Tensor zeros(DType::kInt8, {layer.w[1]});
  std::ranges::fill(zeros.values<std::int8_t>(), static_cast<std::int8_t>(layer.weight_zero));
  net.constant("w_z", std::move(zeros));
  const auto w =
      net.op("DequantizeLinear", "w", {"w_q", "w_s", "w_z"}, {{"axis", std::int64_t{1}}});
  Tensor bias(DType::kInt32, {channels});
  Tensor bias_scales(DType::kFloat32, {channels});
  for (std::int64_t m = 0; m < channels; ++m) {
    const auto at = static_cast<std::size_t>(m);
    bias.values<std::int32_t>()[at] = made.bias[at];
    bias_scales.values<float>()[at] =
        kInputScale * made.scales[static_cast<std::size_t>(m % layer.w[1])];
  }
  net.constant("b_q", std::move(bias));
  net.constant("b_s", std::move(bias_scales));
  const auto b = net.op("DequantizeLinear", "b", {"b_q", "b_s"}, {{"axis", std::int64_t{0}}});
  std::string y = net.op("ConvTranspose", "up", {xd, w, b},
                         {{"group", layer.groups},
                          {"strides", layer.strides},
                          {"pads", layer.pads},
                          {"dilations", layer.dilations},
                          {"output_padding", layer.output_padding}});
  if (quantized) {
    net.constant("ys", Tensor::scalar(kOutputScale));
    net.constant("yz", Tensor::scalar(static_cast<std::uint8_t>(kOutputZero)));
    y = net.op("QuantizeLinear", "yq", {net.op("Relu", "relu", {y}), "ys", "yz"});
    y = net.op("DequantizeLinear", "yd", {y, "ys", "yz"});
  }
  net.output(y);
  made.graph = std::move(net.graph);
  return made;
}

// The int32 sums, in ONNX's order.
std::vector<std::int64_t> sums_of(const UpsamplingLayer& layer, const UpsamplingCase& made,
                                  const Shape& y) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(y.elements()));
  const auto at = [](const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t c,
                     std::int64_t d) {
    return static_cast<std::size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d);
  };
  const std::int64_t inputs = layer.x[1] / layer.groups;
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t m = 0; m < y[1]; ++m) {
      const std::int64_t group = m / layer.w[1];
      for (std::int64_t i = 0; i < y[2] * y[3]; ++i) {
        sums[at(y, n, m, i / y[3], i % y[3])] = made.bias[static_cast<std::size_t>(m)];
      }
      for (std::int64_t c = group * inputs; c < (group + 1) * inputs; ++c) {
        for (std::int64_t i = 0; i < layer.x[2] * layer.x[3]; ++i) {
          const std::int64_t row = i / layer.x[3];
          const std::int64_t column = i % layer.x[3];
          for (std::int64_t k = 0; k < layer.w[2] * layer.w[3]; ++k) {
            const std::int64_t a = k / layer.w[3];
            const std::int64_t b = k % layer.w[3];
            const std::int64_t to = row * layer.strides[0] + a * layer.dilations[0] - layer.pads[0];
            const std::int64_t across =
                column * layer.strides[1] + b * layer.dilations[1] - layer.pads[1];
            if (to < 0 || to >= y[2] || across < 0 || across >= y[3]) continue;
            sums[at(y, n, m, to, across)] +=
                std::int64_t{made.x[at(layer.x, n, c, row, column)] - kInputZero} *
                (made.w[at(layer.w, c, m % layer.w[1], a, b)] - layer.weight_zero);
          }
        }
      }
    }
  }
  return sums;
}

TEST(QConvTranspose, EqualsNaiveSumsOnEveryPathAndNumberOfThreads) {
  for (const UpsamplingLayer& layer : kUpsamplingLayers) {
    for (const bool quantized : {false, true}) {
      const UpsamplingCase made = upsampling_case(layer, quantized);
      Tensor x(DType::kFloat32, layer.x);
      std::transform(made.x.begin(), made.x.end(), x.values<float>().begin(),
                     [](int q) { return kInputScale * static_cast<float>(q - kInputZero); });
      const Executor executor(made.graph);
      for (const Requantization path :
           {Requantization::kFloat, Requantization::kGemmlowp, Requantization::kSingle}) {
        for (const int threads : {1, 3}) {
          CompileOptions options;
          options.threads = threads;
          options.requantization = path;
          const auto plan = executor.compile({}, options);
          bool integer = false;
          for (const StepInfo& step : plan->steps()) {
            integer = integer || (step.op_type == "ConvTranspose" && step.integer);
          }
          ASSERT_TRUE(integer) << "it stayed in FP32";
          Workspace workspace;
          const TensorView input = x;
          const TensorView found = plan->run({&input, 1}, workspace)[0];
          const auto values = found.values<float>();
          const std::vector<std::int64_t> sums = sums_of(layer, made, found.shape);
          const std::int64_t area = found.shape[2] * found.shape[3];
          for (std::size_t i = 0; i < sums.size(); ++i) {
            const std::int64_t m = static_cast<std::int64_t>(i) / area % found.shape[1];
            const float weight_scale = made.scales[static_cast<std::size_t>(m % layer.w[1])];
            const float scale = kInputScale * weight_scale;
            const auto sum = static_cast<std::int32_t>(sums[i]);
            float expected = static_cast<float>(sum) * scale;
            if (quantized) {
              const double multiplier =
                  path == Requantization::kFloat
                      ? static_cast<double>(scale / kOutputScale)
                      : double{kInputScale} * double{weight_scale} / double{kOutputScale};
              const Requantizer requantize(path, multiplier);
              const std::int32_t q = requantize(sum, kOutputZero, {kOutputZero, 255});
              expected = kOutputScale * static_cast<float>(q - kOutputZero);
            }
            ASSERT_EQ(values[i], expected)
                << "weights " << layer.w.to_string() << ", threads " << threads << ", path "
                << name_of(path) << ", element " << i;
          }
        }
      }
    }
  }
}

TEST(QConvTranspose, StaysInFloatWhereStridesWouldMakeTooManyPhases) {
  const UpsamplingLayer layer{{1, 2, 2, 2}, {2, 3, 2, 2}, 1, {9, 8}};
  const auto plan = Executor(upsampling_case(layer, true).graph).compile({});
  for (const StepInfo& step : plan->steps()) {
    EXPECT_FALSE(step.op_type == "ConvTranspose" && step.integer);
  }
}

}  // namespace
}  // namespace qtool
