// Types other than the target's: tests the models that they give, which must still run on integers.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "quantize/weights/weight_ports.h"
#include "support/random_floats.h"
#include "support/signal_to_noise.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kTypedChannels = 4;
constexpr std::int64_t kTypedSide = 6;

Tensor centred_floats(const Shape& shape, unsigned seed) {
  return normal_floats(shape, seed, 0.0F, 0.5F);
}

/// conv 3x3 -> Relu -> conv 1x1 -> + (the first Relu) -> global pool -> Gemm.
Graph typed_network() {
  Net net;
  net.input("x", {1, kTypedChannels, kTypedSide, kTypedSide});
  net.constant("a_w", centred_floats(Shape{kTypedChannels, kTypedChannels, 3, 3}, 1));
  net.constant("a_b", centred_floats(Shape{kTypedChannels}, 2));
  net.constant("b_w", centred_floats(Shape{kTypedChannels, kTypedChannels, 1, 1}, 3));
  net.constant("g_w", centred_floats(Shape{3, kTypedChannels}, 4));
  net.constant("g_b", centred_floats(Shape{3}, 5));
  const std::vector<std::int64_t> one(4, 1);
  net.op("Conv", "a", {"x", "a_w", "a_b"}, {{"pads", one}});
  net.op("Relu", "relu", {"a_out"});
  net.op("Conv", "b", {"relu_out", "b_w"});
  net.op("Add", "add", {"b_out", "relu_out"});
  net.op("GlobalAveragePool", "pool", {"add_out"});
  net.op("Flatten", "flat", {"pool_out"});
  net.op("Gemm", "g", {"flat_out", "g_w", "g_b"}, {{"transB", std::int64_t{1}}});
  net.graph.add_output(net.id("g_out"));
  return net.graph;
}

Tensor typed_image() { return centred_floats(Shape{1, kTypedChannels, kTypedSide, kTypedSide}, 6); }

std::vector<float> run_typed(const Graph& graph, Lowering lowering = Lowering::kInteger) {
  const Executor executor(graph);
  CompileOptions options;
  options.lowering = lowering;
  Workspace workspace;
  const Tensor x = typed_image();
  const TensorView view(x);
  const auto plan = executor.compile({}, options);
  const auto values = plan->run({&view, 1}, workspace)[0].values<float>();
  return {values.begin(), values.end()};
}

/// A table with the ranges that the network has on typed_image(), and with the types of `choices`.
CalibrationTable table_of_types(const Graph& graph, const TypeChoices& choices,
                                std::string_view target_name = kDefaultTarget) {
  const Target target = with_choices(find_target(target_name), choices);
  CalibrationTable table;
  table.model_fingerprint = fingerprint(graph);
  table.method = "minmax";
  table.method_options.scheme = target.activations;
  table.types = choices;
  const Executor executor(graph);
  CompileOptions options;
  options.observe = tensors_to_calibrate(graph, target);
  Workspace workspace;
  const Tensor x = typed_image();
  const TensorView view(x);
  const auto plan = executor.compile({}, options);
  static_cast<void>(plan->run({&view, 1}, workspace, [&](std::size_t i, const TensorView& tensor) {
    ActivationEntry entry;
    entry.tensor = options.observe[i];
    for (const float v : tensor.values<float>()) {
      entry.range.min = std::min(entry.range.min, v);
      entry.range.max = std::max(entry.range.max, v);
    }
    entry.affine = choose_affine(entry.range, target.activations);
    entry.dtype = target.activations.dtype;
    table.activations.push_back(entry);
  }));
  return table;
}

Graph quantized_by(const Graph& graph, const CalibrationTable& table,
                   const StaticOptions& options = {}) {
  return quantize(graph, table, options).graph;
}

/// The steps in FP32 that multiply or add.
std::vector<std::string> float_layers(const Graph& graph) {
  std::vector<std::string> names;
  const std::shared_ptr<const Plan> plan = Executor(graph).compile({});
  for (const StepInfo& step : plan->steps()) {
    if ((step.macs > 0 || step.op_type == "Add") && !step.integer) names.push_back(step.node);
  }
  return names;
}

struct TypeCase {
  std::string name;
  TypeChoices choices;
  double least_sqnr_db;
};

std::vector<TypeCase> type_cases() {
  std::vector<TypeCase> all;
  const auto add = [&](const std::string& name, double least, auto set) {
    TypeCase one{name, {}, least};
    set(one.choices);
    all.push_back(one);
  };
  add("s8", 30, [](TypeChoices& t) { t.activation_dtype = DType::kInt8; });
  add("s8 symmetric", 27, [](TypeChoices& t) {
    t.activation_dtype = DType::kInt8;
    t.activation_symmetry = Symmetry::kSymmetric;
  });
  add("u8 symmetric", 27, [](TypeChoices& t) { t.activation_symmetry = Symmetry::kSymmetric; });
  add("per tensor", 30, [](TypeChoices& t) { t.weight_granularity = Granularity::kPerTensor; });
  add("6-bit weights", 22, [](TypeChoices& t) { t.weight_bits = 6; });
  add("4-bit weights by mse", 10, [](TypeChoices& t) {
    t.weight_bits = 4;
    t.weight_method = "mse";
  });
  for (const bool is_signed : {false, true}) {
    for (const int bits : {7, 5, 4}) {
      add(to_text(bits, "-bit activations, ", is_signed ? "s8" : "u8"), 6.0 * bits - 18.0,
          [&](TypeChoices& t) {
            t.activation_bits = bits;
            if (is_signed) t.activation_dtype = DType::kInt8;
          });
    }
  }
  return all;
}

TEST(QuantizeTypes, AllRunOnIntegersAndStayNearFp32) {
  const Graph graph = typed_network();
  const std::vector<float> expected = run_typed(graph);
  for (const TypeCase& one : type_cases()) {
    SCOPED_TRACE(one.name);
    const Graph int8 = quantized_by(graph, table_of_types(graph, one.choices));
    EXPECT_THAT(float_layers(int8), testing::IsEmpty());
    EXPECT_GT(signal_to_noise(expected, run_typed(int8)), one.least_sqnr_db);
    // The lowered model must compute the same as the nodes of the standard model one by one.
    EXPECT_GT(signal_to_noise(run_typed(int8, Lowering::kReference), run_typed(int8)), 60.0);
  }
}

TEST(QuantizeTypes, WeightsWithZeroPointsRunOnIntegersWhereTheTargetAllowsThem) {
  const Graph graph = typed_network();
  StaticOptions options;
  options.target = "qtool";
  TypeChoices choices;
  choices.weight_symmetry = Symmetry::kAsymmetric;
  for (const Granularity granularity : {Granularity::kPerChannel, Granularity::kPerTensor}) {
    choices.weight_granularity = granularity;
    for (const int bits : {8, 5}) {
      choices.weight_bits = bits;
      CalibrationTable table = table_of_types(graph, choices, options.target);
      fill_weight_entries(graph, options, table);
      const std::vector<std::int32_t>& points = table.weights.at(0).affines.zero_points;
      EXPECT_FALSE(std::all_of(points.begin(), points.end(), [](int z) { return z == 0; }));
      const Graph int8 = quantized_by(graph, read_table(write_table(table)), options);
      EXPECT_THAT(float_layers(int8), testing::IsEmpty());
      EXPECT_GT(signal_to_noise(run_typed(graph), run_typed(int8)), bits == 8 ? 30.0 : 15.0);
      EXPECT_GT(signal_to_noise(run_typed(int8, Lowering::kReference), run_typed(int8)), 60.0);
    }
  }
}

TEST(QuantizeTypes, FewerBitsOfActivationsKeepWithinTheirLimits) {
  const Graph graph = typed_network();
  for (const int bits : {2, 4, 7}) {
    TypeChoices choices;
    choices.activation_bits = bits;
    choices.activation_dtype = DType::kInt8;
    // Ranges narrower than the data, so that something has to be clipped.
    CalibrationTable table = table_of_types(graph, choices);
    for (ActivationEntry& entry : table.activations) {
      entry.range = {0.25F * entry.range.min, 0.25F * entry.range.max};
      entry.affine = choose_affine(entry.range, table.method_options.scheme);
    }
    Graph int8 = quantized_by(graph, table);
    std::vector<ValueId> integers;
    for (const NodeId id : int8.nodes()) {
      if (int8.node(id).is("QuantizeLinear")) integers.push_back(int8.node(id).outputs[0]);
    }
    ASSERT_GE(integers.size(), 4U);
    CompileOptions options;
    options.lowering = Lowering::kReference;
    for (const ValueId id : integers) options.observe.push_back(int8.value(id).name);
    const Executor executor(int8);
    Workspace workspace;
    const Tensor x = typed_image();
    const TensorView view(x);
    int lowest = 127;
    int highest = -128;
    const auto plan = executor.compile({}, options);
    static_cast<void>(plan->run({&view, 1}, workspace, [&](std::size_t, const TensorView& tensor) {
      for (const std::int8_t q : tensor.values<std::int8_t>()) {
        lowest = std::min<int>(lowest, q);
        highest = std::max<int>(highest, q);
      }
    }));
    EXPECT_EQ(lowest, -(1 << (bits - 1)));
    EXPECT_EQ(highest, (1 << (bits - 1)) - 1);
  }
}

TEST(QuantizeTypes, ANarrowedReluBecomesTheClip) {
  const Graph graph = typed_network();
  TypeChoices choices;
  choices.activation_bits = 4;
  const Graph int8 = quantized_by(graph, table_of_types(graph, choices));
  const NodeId relu = node_named(int8, "relu");
  EXPECT_TRUE(int8.node(relu).is("Clip"));
  EXPECT_EQ(int8.value(int8.node(relu).inputs[1]).constant->values<float>()[0], 0.0F);
  std::int64_t clips = 0;
  for (const NodeId id : int8.nodes()) clips += int8.node(id).is("Clip") ? 1 : 0;
  // There are Clips for x, relu, b, add and pool. Flatten moves integers that are already within
  // the limits.
  EXPECT_EQ(clips, 5);
}

TEST(QuantizeTypes, EightBitsNeedNoClip) {
  const Graph graph = typed_network();
  const Graph int8 = quantized_by(graph, table_of_types(graph, {}));
  for (const NodeId id : int8.nodes()) EXPECT_FALSE(int8.node(id).is("Clip"));
}

TEST(QuantizeTypes, WinogradBitsAreForThreeByThreeConvolutionsOfStrideOneOnly) {
  const Graph graph = typed_network();
  Target target = find_target("cpu");
  target.winograd_bits = 6;
  EXPECT_EQ(weight_scheme(graph, node_named(graph, "a"), target).bits, 6);
  EXPECT_EQ(weight_scheme(graph, node_named(graph, "b"), target).bits, 8);
  EXPECT_EQ(weight_scheme(graph, node_named(graph, "g"), target).bits, 8);

  // As in ncnn, the scale of a channel is its largest magnitude divided by 31.
  TypeChoices choices;
  choices.winograd_bits = 6;
  CalibrationTable table = table_of_types(graph, choices);
  fill_weight_entries(graph, {}, table);
  const auto entry = std::find_if(table.weights.begin(), table.weights.end(),
                                  [](const WeightEntry& e) { return e.tensor == "a_w"; });
  ASSERT_NE(entry, table.weights.end());
  EXPECT_EQ(entry->bits, 6);
  const auto w = graph.value(*graph.find_value("a_w")).constant->values<float>();
  for (std::size_t c = 0; c < kTypedChannels; ++c) {
    float largest = 0.0F;
    for (std::size_t i = 0; i < 36; ++i) largest = std::max(largest, std::abs(w[c * 36 + i]));
    EXPECT_FLOAT_EQ(entry->affines.scales[c], largest / 31.0F);
  }
}

TEST(QuantizeTypes, DoNotApplyWinogradBitsToStridesDilationsOrGroups) {
  Target target = find_target("cpu");
  target.winograd_bits = 6;
  const auto bits = [&](std::map<std::string, Attribute, std::less<>> attributes, Shape weight) {
    Net net;
    net.input("x", {1, 4, 9, 9});
    net.constant("w", Tensor(DType::kFloat32, weight));
    net.output(net.op("Conv", "conv", {"x", "w"}, std::move(attributes)));
    return weight_scheme(net.graph, node_named(net.graph, "conv"), target).bits;
  };
  const std::vector<std::int64_t> two(2, 2);
  EXPECT_EQ(bits({}, Shape{4, 4, 3, 3}), 6);
  EXPECT_EQ(bits({{"strides", two}}, Shape{4, 4, 3, 3}), 8);
  EXPECT_EQ(bits({{"dilations", two}}, Shape{4, 4, 3, 3}), 8);
  EXPECT_EQ(bits({{"group", std::int64_t{4}}}, Shape{4, 1, 3, 3}), 8);
  EXPECT_EQ(bits({}, Shape{4, 4, 1, 1}), 8);
}

TEST(QuantizeTypes, OfTheTableHoldUntilOptionsChooseOthers) {
  const Graph graph = typed_network();
  TypeChoices choices;
  choices.weight_bits = 4;
  CalibrationTable table = table_of_types(graph, choices);
  fill_weight_entries(graph, {}, table);
  EXPECT_EQ(table.weights.at(0).bits, 4);
  const auto largest = [](const Graph& int8) {
    const auto q = int8.value(*int8.find_value("b_w_q")).constant->values<std::int8_t>();
    int top = 0;
    for (const std::int8_t v : q) top = std::max(top, std::abs(int{v}));
    return top;
  };
  EXPECT_EQ(largest(quantized_by(graph, table)), 7);
  StaticOptions options;
  options.types.weight_bits = 8;
  EXPECT_EQ(largest(quantized_by(graph, table, options)), 127);
}

TEST(QuantizeTypes, RefuseWhatTheTargetDoesNotTake) {
  TypeChoices choices;
  choices.weight_symmetry = Symmetry::kAsymmetric;
  EXPECT_THROW(with_choices(find_target("cpu"), choices), Error);
  choices = {};
  choices.weight_bits = 9;
  EXPECT_THROW(with_choices(find_target("cpu"), choices), Error);
  choices = {};
  choices.weight_method = "median";
  EXPECT_THROW(with_choices(find_target("cpu"), choices), Error);
}

}  // namespace
}  // namespace qtool
