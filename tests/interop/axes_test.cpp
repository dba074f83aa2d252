// Convolutions over one and over three axes as target 'cpu' writes them. ONNX Runtime also runs
// them on integers and computes the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantized_networks.h"
#include "support/random_floats.h"
#include "support/tensor_folder.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kChannels = 16;

std::string conv(Net& net, const std::string& name, const std::string& x, const Shape& weights,
                 std::map<std::string, Attribute, std::less<>> attributes) {
  const auto seed = static_cast<unsigned>(net.graph.value_limit());
  net.constant(name + "_w", random_floats(weights, seed, -0.3F, 0.3F));
  net.constant(name + "_b", random_floats({weights[0]}, seed + 1, -0.2F, 0.2F));
  const auto y = net.op("Conv", name, {x, name + "_w", name + "_b"}, std::move(attributes));
  return net.op("Relu", name + "_relu", {y});
}

/// A network for sequences: dilated, depthwise and strided convolutions, a pool, a classifier.
Net rows() {
  Net net;
  const auto first = conv(net, "first", net.input("x", {1, 4, 96}), {kChannels, 4, 5},
                          {{"pads", Ints{2, 2}}, {"strides", Ints{2}}});
  const auto wide = conv(net, "wide", first, {kChannels, kChannels, 3},
                         {{"pads", Ints{2, 2}}, {"dilations", Ints{2}}});
  const auto deep =
      conv(net, "deep", wide, {kChannels, 1, 3}, {{"pads", Ints{1, 1}}, {"group", kChannels}});
  const auto sum = net.op("Add", "sum", {deep, first});
  const auto pool =
      net.op("MaxPool", "pool", {sum}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  const auto last = conv(net, "last", pool, {24, kChannels, 3}, {{"pads", Ints{1, 1}}});
  net.output(net.op("GlobalAveragePool", "mean", {last}));
  return net;
}

/// A network for volumes: strided and depthwise convolutions, a sum, a pool, a classifier.
Net volumes() {
  Net net;
  const auto first = conv(net, "first", net.input("x", {1, 2, 8, 14, 12}), {kChannels, 2, 3, 3, 3},
                          {{"pads", Ints{1, 1, 1, 1, 1, 1}}, {"strides", Ints{1, 2, 2}}});
  const auto deep = conv(net, "deep", first, {kChannels, 1, 3, 3, 3},
                         {{"pads", Ints{1, 1, 1, 1, 1, 1}}, {"group", kChannels}});
  const auto sum = net.op("Add", "sum", {deep, first});
  const auto pool = net.op("MaxPool", "pool", {sum},
                           {{"kernel_shape", Ints{2, 2, 2}}, {"strides", Ints{2, 2, 2}}});
  const auto last =
      conv(net, "last", pool, {24, kChannels, 3, 1, 1}, {{"pads", Ints{1, 0, 0, 1, 0, 0}}});
  net.output(net.op("GlobalAveragePool", "mean", {last}));
  return net;
}

Shape input_shape(const Net& net) {
  std::vector<std::int64_t> dims;
  for (const Dim& dim : *net.graph.value(net.graph.inputs()[0]).shape) dims.push_back(*dim.size);
  return Shape(std::move(dims));
}

Quantized quantized_for_cpu(const Net& net) {
  const TensorFolder folder;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    folder.add(std::to_string(seed) + ".npy", random_floats(input_shape(net), seed, -1.0F, 1.0F));
  }
  const Executor real(net.graph);
  const Samples samples(list_tensors(folder.path(), input_specs(net.graph)));
  StaticOptions options;
  options.types.weight_bits = 7;  // makes ONNX Runtime's products exact without VNNI too
  return quantize(net.graph, calibrate(real, samples, {}).table, options);
}

class Axes : public ::testing::TestWithParam<std::pair<const char*, Net (*)()>> {
 protected:
  void SetUp() override {
    if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  }
};

TEST_P(Axes, RunOnIntegersThereAndAgreeWithUs) {
  const Net net = GetParam().second();
  const Quantized quantized = quantized_for_cpu(net);
  const TemporaryFolder folder;
  const auto saved = folder.path / "model.onnx";
  save_onnx(quantized.graph, saved);
  const Executor ours(prepare(load_onnx(saved)));
  const auto plan = ours.compile({});
  const Coverage coverage = coverage_of(*plan);
  EXPECT_GT(coverage.macs, 0);
  EXPECT_EQ(coverage.integer_macs, coverage.macs);
  for (const unsigned seed : {11U, 12U, 13U}) {
    const Tensor x = random_floats(input_shape(net), seed, -1.0F, 1.0F);
    const OtherRun other = run_other(saved, {{"x", x}}, folder.path);
    ASSERT_FALSE(other.outputs.empty());
    EXPECT_EQ(std::ranges::count(other.ops, "QLinearConv"),
              std::ranges::count_if(net.graph.nodes(),
                                    [&](NodeId id) { return net.graph.node(id).is("Conv"); }));
    EXPECT_EQ(std::ranges::count(other.ops, "Conv") + std::ranges::count(other.ops, "FusedConv"),
              0);
    const TensorView view = x;
    Workspace workspace;
    const double sqnr =
        sqnr_db_of(plan->run({&view, 1}, workspace)[0].values<float>(), other.outputs[0]);
    std::printf("%s: %.1f dB\n", GetParam().first, sqnr);
    EXPECT_GE(sqnr, kMinSqnrDb);
  }
}

// Without a table, a convolution over one axis becomes a ConvInteger of images of one row.
TEST(DynamicAxes, RunOnIntegersThereAndAgreeWithUs) {
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  const Net net = rows();
  const TemporaryFolder folder;
  const auto saved = folder.path / "model.onnx";
  save_onnx(quantize(net.graph, DynamicOptions()).graph, saved);
  const Executor ours(prepare(load_onnx(saved)));
  const auto plan = ours.compile({});
  const Tensor x = random_floats(input_shape(net), 11, -1.0F, 1.0F);
  const OtherRun other = run_other(saved, {{"x", x}}, folder.path);
  ASSERT_FALSE(other.outputs.empty());
  EXPECT_EQ(std::ranges::count(other.ops, "ConvInteger"), 4);
  const TensorView view = x;
  Workspace workspace;
  const double sqnr =
      sqnr_db_of(plan->run({&view, 1}, workspace)[0].values<float>(), other.outputs[0]);
  std::printf("rows, dynamic: %.1f dB\n", sqnr);
  // A range depends on the last bits of FP32 sums, so the two may round to neighbouring integers.
  EXPECT_GE(sqnr, 30.0);
}

// The weights of a model may lie in a second file, as they do beyond 2 GiB.
TEST_P(Axes, ReadOurSecondFile) {
  const Quantized quantized = quantized_for_cpu(GetParam().second());
  const TemporaryFolder folder;
  const auto one = folder.path / "one.onnx";
  const auto two = folder.path / "two.onnx";
  save_onnx(quantized.graph, one);
  const ModelFiles files =
      save_onnx_files(quantized.graph, data_file_of("two.onnx").string(), DataPlace::kSecondFile);
  ASSERT_FALSE(files.data.empty());
  write_file(two, files.model);
  write_file(data_file_of(two), files.data);
  const Tensor x = random_floats(input_shape(GetParam().second()), 11, -1.0F, 1.0F);
  EXPECT_EQ(run_other(one, {{"x", x}}, folder.path).outputs,
            run_other(two, {{"x", x}}, folder.path).outputs);
}

INSTANTIATE_TEST_SUITE_P(Networks, Axes,
                         ::testing::Values(std::pair("rows", &rows),
                                           std::pair("volumes", &volumes)),
                         [](const auto& test) { return std::string(test.param.first); });

}  // namespace
}  // namespace qtool
