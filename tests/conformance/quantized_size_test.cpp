// Quantizing makes models smaller: no weight takes more bytes than in FP32, and the added bytes
// stay within a bound per quantized tensor.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "quantize/weights/weight_ports.h"
#include "support/places.h"
#include "support/quantize_in.h"
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

/// Channel means of a node's input, as a table has them; empty where they are not needed.
std::vector<float> channel_means(const Graph& graph, ValueId input) {
  for (const NodeId reader : graph.consumers(input)) {
    const auto ports = weight_ports(graph, reader);
    if (!ports) continue;
    const Node& node = graph.node(reader);
    const Shape& weight = graph.value(ports->weight).constant->shape();
    const std::int64_t channels = node.is("Conv") ? weight[1] * node.get_int("group", 1) : 1;
    return std::vector<float>(static_cast<std::size_t>(channels), 0.25F);
  }
  return {};
}

CalibrationTable table_for(const Graph& prepared, const Target& target) {
  CalibrationTable table;
  float width = 1.0F;  // every tensor has a scale of its own
  for (const std::string& name : tensors_to_calibrate(prepared, target)) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, width += 0.125F};
    entry.affine = choose_affine(entry.range, target.activations);
    entry.observed.channel_means = channel_means(prepared, prepared.find_value(name).value());
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

/// The number of quantized tensors. Each quantized activation, weight, bias and constant has one of
/// these operators.
std::int64_t quantized_tensors(const Graph& int8) {
  return static_cast<std::int64_t>(
      count_ops(int8, "DequantizeLinear") + count_ops(int8, "DynamicQuantizeLinear") +
      count_ops(int8, "ConvInteger") + count_ops(int8, "MatMulInteger"));
}

void expect_small(const Graph& loaded, QuantizeMode mode, std::string_view target) {
  SCOPED_TRACE(to_text(name_of(mode), " for ", target));
  const Graph prepared = prepare(loaded);
  QuantizeOptions options;
  options.target = target;
  StaticOptions static_options;
  static_options.target = target;
  const Quantized quantized =
      mode == QuantizeMode::kStatic
          ? quantize(prepared, table_for(prepared, find_target(target)), static_options)
          : quantize_in(mode, prepared, options);
  const Graph& int8 = quantized.graph;
  std::int64_t most = bytes_of(loaded) + quantized_tensors(int8) * kBytesPerTensor + kBytesPerModel;
  // Weights that stay FP32 save nothing, and each channel gets a scale, a zero point and, in a
  // layer without a bias, the correction of its mean.
  if (find_target(target).constants == ConstantForm::kReals) {
    most += 9 * quantized.report.output_channels;
  }
  EXPECT_LE(bytes_of(int8), most);
}

/// Checks that folding does not make the constants larger than those of the model.
void expect_no_expansion(const Graph& loaded) {
  Graph listed = loaded;
  fold_constant_nodes(listed);
  EXPECT_LE(constant_bytes(prepare(loaded)), constant_bytes(listed) + kBytesPerModel);
}

void expect_small_in_every_mode(const Graph& loaded) {
  expect_no_expansion(loaded);
  for (const Target& target : targets()) expect_small(loaded, QuantizeMode::kStatic, target.name);
  expect_small(loaded, QuantizeMode::kDynamic, kDefaultTarget);
  expect_small(loaded, QuantizeMode::kWeightOnly, kDefaultTarget);
}

std::string with_constant(Net& net, const std::string& op, const std::string& x, Shape shape) {
  const std::string name = to_text(op, "_", net.graph.nodes().size());
  net.constant(to_text(name, "_c"), counting(shape));
  return net.op(op, name, {x, to_text(name, "_c")});
}

TEST(QuantizedSize, StaysSmallWithConstantOperands) {
  for (const char* op : {"PRelu", "Add", "Mul"}) {
    for (const Shape& shape : {Shape{}, Shape{16, 1, 1}, Shape{1, 16, 8, 8}, Shape{8}}) {
      SCOPED_TRACE(to_text(op, shape.to_string()));
      Net net;
      std::string x = net.conv("stem", net.input("x", {1, 16, 8, 8}), 16);
      for (int i = 0; i < 4; ++i) {
        x = net.conv(to_text("conv", i), with_constant(net, op, x, shape), 16);
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
    x = net.conv(to_text(scope, "/block", i, "/convolution"), x, 16);
    x = net.op("Relu", to_text(scope, "/block", i, "/activation"), {x});
  }
  net.output(x);
  expect_small_in_every_mode(net.graph);
}

// A converter writes one slope per channel and an Expand to the whole map.
TEST(QuantizedSize, KeepsConstantsAsSmallAsTheModelHasThem) {
  const auto shape = [](std::vector<std::int64_t> dims) {
    return Tensor::of<std::int64_t>({std::ssize(dims)}, std::span<const std::int64_t>(dims));
  };
  const auto widened = [&](Net& net, const std::string& form, int i) -> std::string {
    const std::string name = to_text(form, i);
    if (form == "Expand") return net.op("Expand", name, {"slope", "map"});
    if (form == "Tile") return net.op("Tile", name, {"slope", "map_repeats"});
    if (form == "ConstantOfShape") {
      return net.op("ConstantOfShape", name, {"map"},
                    {{"value", std::make_shared<const Tensor>(Tensor::of<float>({1}, {0.1F}))}});
    }
    if (form == "Add") return net.op("Add", name, {"slope", "row"});
    if (form == "Concat")
      return net.op(
          "Expand", name,
          {net.op("Concat", to_text("all", i), {"row", "row"}, {{"axis", std::int64_t{2}}}),
           "map"});
    // Small steps, each of which only doubles the size of its input.
    std::string last = "slope";
    for (int step = 0; step < 12; ++step) {
      last = net.op("Tile", to_text(name, "_", step), {last, step % 2 == 0 ? "tall" : "wide"});
    }
    return net.op("Reshape", to_text(name, "_r"), {last, "map"});
  };
  for (const char* form : {"Expand", "Tile", "ConstantOfShape", "Add", "Concat", "steps"}) {
    SCOPED_TRACE(form);
    Net net;
    std::string x = net.conv("stem", net.input("x", {1, 16, 64, 64}), 16);
    net.constant("slope", counting({16, 1, 1}));
    net.constant("row", counting({1, 64, 64}));
    net.constant("map", shape({16, 64, 64}));
    net.constant("map_repeats", shape({1, 64, 64}));
    net.constant("tall", shape({1, 2, 1}));
    net.constant("wide", shape({1, 1, 2}));
    for (int i = 0; i < 4; ++i) {
      const std::string slopes = widened(net, form, i);
      x = net.conv(to_text("conv", i), net.op("PRelu", to_text("prelu", i), {x, slopes}), 16);
    }
    net.output(x);
    expect_small_in_every_mode(net.graph);
  }
}

// Constant lists, indices, and one weight in several shapes: each of these was once stored with
// more bytes than in the model.
TEST(QuantizedSize, KeepsListsIndicesAndSharedConstantsAsSmallToo) {
  Net net;
  net.input("x", {1, 1000, 4, 4});
  net.constant("channels", Tensor::of<std::int64_t>({1}, {1000}));
  net.constant("count", Tensor::of<std::int64_t>({1}, {4000}));
  net.constant("weight", counting({1000, 1, 1}));
  std::string x = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string ones = net.op("ConstantOfShape", to_text("ones", i), {"channels"});
    x = net.op("InstanceNormalization", to_text("norm", i), {x, ones, ones});
    net.constant(to_text("shape", i), Tensor::of<std::int64_t>({4}, {1, 1000, 1, 1}));
    x = net.op("Mul", to_text("mul", i),
               {x, net.op("Reshape", to_text("view", i), {"weight", to_text("shape", i)})});
    const std::string zeros =
        net.op("ConstantOfShape", to_text("zeros", i), {"count"},
               {{"value", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({1}, {0}))}});
    net.output(net.op("Gather", to_text("gather", i), {x, zeros}, {{"axis", std::int64_t{1}}}));
  }
  expect_small_in_every_mode(net.graph);
}

// One tensor holds the weights of three products; each takes its part.
TEST(QuantizedSize, FoldsPartsThatTogetherAreTheWhole) {
  Net net;
  net.input("x", {1, 64});
  net.constant("all", counting({64, 192}));
  net.constant("axis", Tensor::of<std::int64_t>({1}, {1}));
  for (std::int64_t i = 0; i < 3; ++i) {
    net.constant(to_text("from", i), Tensor::of<std::int64_t>({1}, {64 * i}));
    net.constant(to_text("to", i), Tensor::of<std::int64_t>({1}, {64 * i + 64}));
    const std::string part =
        net.op("Slice", to_text("part", i), {"all", to_text("from", i), to_text("to", i), "axis"});
    const std::string turned = net.op("Transpose", to_text("turned", i), {part});
    net.output(net.op("MatMul", to_text("product", i), {"x", turned}));
  }
  const Graph prepared = prepare(net.graph);
  EXPECT_EQ(count_ops(prepared, "Slice") + count_ops(prepared, "Transpose"), 0U);
  EXPECT_EQ(constant_bytes(prepared), 64 * 192 * 4);
  expect_small_in_every_mode(net.graph);
}

// Bias correction must not add more bytes to a layer than quantizing saves, even in a layer with
// one product per channel.
TEST(QuantizedSize, GivesNoBiasThatOutweighsTheWeights) {
  for (const std::int64_t channels : {8, 400, 4000}) {
    for (const std::int64_t depth : {1, 3, 27}) {
      SCOPED_TRACE(to_text(channels, " channels of ", depth));
      Net net;
      net.input("x", {1, depth, 4, 4});
      net.constant("w", counting({channels, depth, 1, 1}));
      net.output(net.op("Conv", "conv", {"x", "w"}));
      expect_small_in_every_mode(net.graph);
    }
  }
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
