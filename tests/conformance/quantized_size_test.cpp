// Quantizing makes models smaller: no weight takes more bytes than in FP32, and what is added to it
// stays within a bound per quantized tensor.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "qtool/base/text.h"
#include "qtool/calib/table.h"
#include "qtool/exec/prepare.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "support/places.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBytesPerTensor = 400;  // nodes, names, scales of a quantized tensor
constexpr std::int64_t kBytesPerModel = 1000;  // metadata

Tensor counting(const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  float next = -0.5F;
  for (float& value : tensor.values<float>()) value = next += 0.001F;
  return tensor;
}

CalibrationTable table_for(const Graph& prepared, const Target& target) {
  CalibrationTable table;
  float width = 1.0F;  // every tensor has a scale of its own
  for (const std::string& name : tensors_to_calibrate(prepared, target)) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, width += 0.125F};
    entry.affine = choose_affine(entry.range, target.activations);
    table.activations.push_back(entry);
  }
  return table;
}

std::int64_t bytes_of(const Graph& graph) {
  return static_cast<std::int64_t>(save_onnx_bytes(graph).size());
}

std::int64_t constant_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const ValueId id : graph.living_values()) {
    if (graph.is_constant(id)) bytes += graph.value(id).constant->bytes();
  }
  return bytes;
}

void expect_small(const Graph& loaded, QuantizeMode mode) {
  SCOPED_TRACE(name_of(mode));
  const Graph prepared = prepare(loaded);
  QuantizeOptions options;
  options.mode = mode;
  QuantizeReport report;
  const Graph int8 =
      mode == QuantizeMode::kStatic
          ? quantize(prepared, table_for(prepared, find_target("cpu")), options, report)
          : quantize(prepared, options, report);
  // Each quantized activation, weight, bias and constant has one of these.
  const auto tensors = static_cast<std::int64_t>(
      count_ops(int8, "DequantizeLinear") + count_ops(int8, "DynamicQuantizeLinear") +
      count_ops(int8, "ConvInteger") + count_ops(int8, "MatMulInteger"));
  EXPECT_LE(bytes_of(int8), bytes_of(loaded) + tensors * kBytesPerTensor + kBytesPerModel);
}

void expect_small_in_every_mode(const Graph& loaded) {
  expect_small(loaded, QuantizeMode::kStatic);
  expect_small(loaded, QuantizeMode::kDynamic);
  expect_small(loaded, QuantizeMode::kWeightOnly);
}

std::string with_constant(Net& net, const std::string& op, const std::string& x, Shape shape) {
  const std::string name = concat(op, "_", net.graph.nodes().size());
  net.constant(concat(name, "_c"), counting(shape));
  return net.op(op, name, {x, concat(name, "_c")});
}

TEST(QuantizedSize, StaysSmallWithConstantOperands) {
  for (const char* op : {"PRelu", "Add", "Mul"}) {
    for (const Shape& shape : {Shape{}, Shape{16, 1, 1}, Shape{1, 16, 8, 8}, Shape{8}}) {
      SCOPED_TRACE(concat(op, shape.to_string()));
      Net net;
      std::string x = net.conv("stem", net.input("x", {1, 16, 8, 8}), 16);
      for (int i = 0; i < 4; ++i) {
        x = net.conv(concat("conv", i), with_constant(net, op, x, shape), 16);
      }
      net.output(x);
      expect_small_in_every_mode(net.graph);
    }
  }
}

TEST(QuantizedSize, LeavesWeightsWhoseScalesOutweighThem) {
  for (const std::int64_t channels : {8, 400, 4000}) {
    SCOPED_TRACE(channels);
    Net net;
    net.input("x", {1, channels, 4, 4});
    net.constant("w", counting({channels, 1, 1, 1}));
    net.constant("b", counting({channels}));
    const std::string x = net.op("Conv", "scale", {"x", "w", "b"}, {{"group", channels}});
    net.constant("m", counting({2, channels}));
    net.output(net.op("Gemm", "fc",
                      {net.op("Slice", "two",
                              {net.op("GlobalAveragePool", "gap", {x}),
                               net.constant("from", Tensor::of<std::int64_t>({1}, {0})),
                               net.constant("to", Tensor::of<std::int64_t>({1}, {2})),
                               net.constant("axes", Tensor::of<std::int64_t>({1}, {1}))}),
                       "m"}));
    expect_small_in_every_mode(net.graph);
  }
}

TEST(QuantizedSize, DoesNotGrowWithTheLengthOfNames) {
  Net net;
  const std::string scope(150, 's');
  std::string x = net.input("x", {1, 16, 8, 8});
  for (int i = 0; i < 6; ++i) {
    x = net.conv(concat(scope, "/block", i, "/convolution"), x, 16);
    x = net.op("Relu", concat(scope, "/block", i, "/activation"), {x});
  }
  net.output(x);
  expect_small_in_every_mode(net.graph);
}

// A converter writes one slope per channel and an Expand to the whole map.
TEST(QuantizedSize, KeepsConstantsAsSmallAsTheModelHasThem) {
  Net net;
  std::string x = net.conv("stem", net.input("x", {1, 16, 64, 64}), 16);
  net.constant("slope", counting({16, 1, 1}));
  net.constant("map", Tensor::of<std::int64_t>({3}, {16, 64, 64}));
  for (int i = 0; i < 4; ++i) {
    const std::string slopes = net.op("Expand", concat("expand", i), {"slope", "map"});
    x = net.conv(concat("conv", i), net.op("PRelu", concat("prelu", i), {x, slopes}), 16);
  }
  net.output(x);
  EXPECT_LE(constant_bytes(prepare(net.graph)), constant_bytes(net.graph));
  expect_small_in_every_mode(net.graph);
}

TEST(QuantizedSize, OfRealNetworksIsBelowThatOfTheirWeights) {
  int tried = 0;
  for (const fs::path& folder : {fs::path(kSourceFolder) / "data", fs::path(kSharedData) / "models",
                                 fs::path(kSharedData) / "models" / "wild"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".onnx" || name.find("int8") != std::string::npos) continue;
      SCOPED_TRACE(name);
      const Graph loaded = load_onnx(entry.path());
      expect_small_in_every_mode(loaded);
      ++tried;
    }
  }
  EXPECT_GE(tried, 2);
}

}  // namespace
}  // namespace qtool
