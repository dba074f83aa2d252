// Operators on integers that do not occur in usual networks for images: two activations, one and
// three spatial axes, interpolation, normalization, ranks. Compares each with the same graph, run
// node by node as the ONNX specification says (Lowering::kReference).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "qtool/exec/executor.h"
#include "unit/qdq_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

/// Whether the result must have the bits of the reference, or may differ by one step next to a tie.
/// The reference rounds a sum only once; the integer kernels also round before the sum.
enum class Agreement : std::uint8_t { kSameBits, kOneStep };

struct ShapeCase {
  const char* name;
  Shape shape;  // of the input "x"
  std::function<void(QdqNet&)> build;
  float step;  // of the output grid, 0 for float outputs
  Agreement agreement = Agreement::kOneStep;
};

void PrintTo(const ShapeCase& c, std::ostream* out) { *out << c.name; }

std::string in(QdqNet& net) { return net.qdq("x", 0.02F, 117); }

// Another activation of the same shape and another scale.
std::string bent(QdqNet& net, const std::string& x) {
  return net.qdq(net.op("HardSwish", "bent", {x}), 0.013F, 30);
}

std::string two(QdqNet& net, const std::string& op, float scale, int zero_point) {
  const auto x = in(net);
  return net.qdq(net.op(op, "both", {x, bent(net, x)}), scale, zero_point);
}

std::string weighted(QdqNet& net, const std::string& op, const std::string& x, const Shape& w,
                     Node::AttributeMap attributes, std::int64_t channel_axis = 0) {
  const std::int64_t channels =
      channel_axis == 0 ? w[0] : w[1] * std::get<std::int64_t>(attributes.at("group"));
  return net.op(op, "conv", {x, net.weights("w", w, channel_axis), net.bias("b", channels)},
                std::move(attributes));
}

void resize_to_another_scale(QdqNet& net, Tensor scales) {
  net.constant("scales", std::move(scales));
  net.output(net.qdq(net.op("Resize", "other", {in(net), "", "scales"},
                            {{"mode", std::string("linear")},
                             {"coordinate_transformation_mode", std::string("align_corners")}}),
                     0.031F, 60));
}

std::vector<ShapeCase> pair_cases() {
  const Shape image{2, 6, 9, 7};
  return {
      {"Sub", image, [](QdqNet& net) { net.output(two(net, "Sub", 0.03F, 110)); }, 0.03F},
      {"SubWithRelu", image,
       [](QdqNet& net) {
         const auto x = in(net);
         const auto y = net.op("Sub", "both", {x, bent(net, x)});
         net.output(net.qdq(net.op("Relu", "relu", {y}), 0.02F, 7));
       },
       0.02F},
      {"Div", image, [](QdqNet& net) { net.output(two(net, "Div", 0.05F, 120)); }, 0.05F,
       Agreement::kSameBits},
      {"Min", image, [](QdqNet& net) { net.output(two(net, "Min", 0.017F, 140)); }, 0.017F,
       Agreement::kSameBits},
      {"Max", image, [](QdqNet& net) { net.output(two(net, "Max", 0.017F, 20)); }, 0.017F,
       Agreement::kSameBits},
      {"MaxByChannel", image,
       [](QdqNet& net) {
         const auto x = in(net);
         const auto top =
             net.qdq(net.op("MaxPool", "top", {x}, {{"kernel_shape", Ints{9, 7}}}), 0.02F, 117);
         net.output(net.qdq(net.op("Max", "both", {top, x}), 0.021F, 118));
       },
       0.021F, Agreement::kSameBits},
      {"SubOfVolumes",
       {2, 3, 2, 3, 5},
       [](QdqNet& net) { net.output(two(net, "Sub", 0.031F, 110)); },
       0.031F},
      {"SquaredDifferenceAsProduct", image,
       [](QdqNet& net) {
         const auto x = in(net);
         const auto d = net.op("Sub", "both", {x, bent(net, x)});
         net.output(net.qdq(net.op("Mul", "square", {d, d}), 0.03F, 0));
       },
       0.03F, Agreement::kSameBits},
      {"SquaredDifferenceAsPower", image,
       [](QdqNet& net) {
         const auto x = in(net);
         net.constant("two", Tensor::scalar<float>(2.0F));
         const auto top =
             net.qdq(net.op("MaxPool", "top", {x}, {{"kernel_shape", Ints{9, 7}}}), 0.02F, 117);
         const auto d = net.op("Sub", "both", {top, x});
         net.output(net.qdq(net.op("Pow", "square", {d, "two"}), 0.03F, 4));
       },
       0.03F, Agreement::kSameBits},
  };
}

std::vector<ShapeCase> row_cases() {
  const Shape row{2, 6, 31};
  return {
      {"RowConvWithRelu", row,
       [](QdqNet& net) {
         const auto y = weighted(net, "Conv", in(net), {6, 3, 4},
                                 {{"pads", Ints{2, 1}},
                                  {"strides", Ints{2}},
                                  {"dilations", Ints{3}},
                                  {"kernel_shape", Ints{4}},
                                  {"group", std::int64_t{2}}});
         net.output(net.qdq(net.op("Relu", "relu", {y}), 0.05F, 3));
       },
       0.05F},
      {"RowConvWithFloatOutput", row,
       [](QdqNet& net) {
         net.output(weighted(net, "Conv", in(net), {4, 6, 3},
                             {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2}}}));
       },
       0.0F},
      {"RowConvWithEmptyAttributes", row,  // they mean the defaults
       [](QdqNet& net) {
         const auto y = weighted(net, "Conv", in(net), {4, 6, 3},
                                 {{"pads", Ints{}},
                                  {"strides", Ints{}},
                                  {"dilations", Ints{}},
                                  {"kernel_shape", Ints{3}}});
         net.output(net.qdq(y, 0.05F, 100));
       },
       0.05F},
      {"DepthwiseRowConvAddedToItsInput", row,
       [](QdqNet& net) {
         const auto x = in(net);
         const auto y = weighted(net, "Conv", x, {6, 1, 3},
                                 {{"group", std::int64_t{6}}, {"pads", Ints{1, 1}}});
         net.output(net.qdq(net.op("Add", "add", {y, x}), 0.05F, 100));
       },
       0.05F},
      {"TransposedRowConv", row,
       [](QdqNet& net) {
         const auto y = weighted(net, "ConvTranspose", in(net), {6, 4, 3},
                                 {{"group", std::int64_t{1}},
                                  {"strides", Ints{2}},
                                  {"pads", Ints{1, 0}},
                                  {"output_padding", Ints{1}}},
                                 1);
         net.output(net.qdq(y, 0.05F, 100));
       },
       0.05F},
      {"LinearResizeOfRows", row,
       [](QdqNet& net) {
         net.constant("sizes", Tensor::of<std::int64_t>({3}, {2, 6, 47}));
         const auto y = net.qdq(net.op("Resize", "larger", {in(net), "", "", "sizes"},
                                       {{"mode", std::string("linear")}}),
                                0.02F, 117);
         const auto v = net.weights("v", {3, 6, 3}, 0);
         net.output(net.qdq(net.op("Conv", "last", {y, v}), 0.05F, 128));
       },
       0.05F},
      {"RowConvsWithElementsBetween", row,
       [](QdqNet& net) {
         const auto x = in(net);
         const auto y = net.qdq(weighted(net, "Conv", x, {6, 6, 1}, {}), 0.05F, 100);
         const auto gate = net.qdq(net.op("Sigmoid", "gate", {y}), 1.0F / 255.0F, 0);
         const auto z = net.qdq(net.op("Mul", "mul", {y, gate}), 0.03F, 40);
         const auto all =
             net.qdq(net.op("Concat", "concat", {z, x}, {{"axis", std::int64_t{1}}}), 0.04F, 90);
         const auto v = net.weights("v", {3, 12, 3}, 0);
         net.output(net.qdq(net.op("Conv", "last", {all, v}), 0.05F, 128));
       },
       0.05F},
      {"RowPools", row,
       [](QdqNet& net) {
         const auto top = net.qdq(
             net.op(
                 "MaxPool", "max", {in(net)},
                 {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", std::int64_t{1}}}),
             0.02F, 117);
         net.output(net.qdq(net.op("AveragePool", "mean", {top},
                                   {{"kernel_shape", Ints{4}}, {"pads", Ints{1, 2}}}),
                            0.0107F, 100));
       },
       0.0107F},
      {"MeanOfRows", row,
       [](QdqNet& net) {
         net.output(net.qdq(net.op("GlobalAveragePool", "mean", {in(net)}), 0.004F, 100));
       },
       0.004F},
  };
}

std::vector<ShapeCase> volume_cases() {
  const Shape volume{2, 4, 5, 6, 7};
  return {
      {"VolumeConvWithRelu", volume,
       [](QdqNet& net) {
         const auto y = weighted(net, "Conv", in(net), {5, 4, 3, 2, 3},
                                 {{"pads", Ints{1, 0, 2, 2, 1, 0}},
                                  {"strides", Ints{2, 1, 2}},
                                  {"dilations", Ints{2, 1, 1}}});
         net.output(net.qdq(net.op("Relu", "relu", {y}), 0.05F, 3));
       },
       0.05F},
      {"GroupedVolumeConvWithFloatOutput", volume,
       [](QdqNet& net) {
         net.output(weighted(net, "Conv", in(net), {6, 2, 2, 3, 1}, {{"group", std::int64_t{2}}}));
       },
       0.0F},
      {"DepthwiseVolumeConvAddedToItsInput", volume,
       [](QdqNet& net) {
         const auto x = in(net);
         const auto y = weighted(net, "Conv", x, {4, 1, 3, 3, 3},
                                 {{"group", std::int64_t{4}}, {"pads", Ints{1, 1, 1, 1, 1, 1}}});
         net.output(net.qdq(net.op("Add", "add", {x, y}), 0.05F, 100));
       },
       0.05F},
      {"TransposedVolumeConvWithRelu", volume,
       [](QdqNet& net) {
         const auto y = weighted(net, "ConvTranspose", in(net), {4, 5, 3, 2, 3},
                                 {{"group", std::int64_t{1}},
                                  {"strides", Ints{2, 3, 1}},
                                  {"pads", Ints{1, 0, 2, 0, 1, 1}},
                                  {"output_padding", Ints{1, 0, 0}},
                                  {"dilations", Ints{1, 2, 1}}},
                                 1);
         net.output(net.qdq(net.op("Relu", "relu", {y}), 0.05F, 3));
       },
       0.05F},
      // Strides beyond the kernel leave slices, rows and columns that only the bias reaches.
      {"GroupedTransposedVolumeConvWithFloatOutput", volume,
       [](QdqNet& net) {
         net.output(weighted(
             net, "ConvTranspose", in(net), {4, 3, 2, 1, 2},
             {{"group", std::int64_t{2}}, {"strides", Ints{3, 2, 3}}, {"dilations", Ints{3, 1, 1}}},
             1));
       },
       0.0F},
      {"LinearResizeOfVolumes", volume,
       [](QdqNet& net) {
         resize_to_another_scale(net, Tensor::of<float>({5}, {1.0F, 1.0F, 2.0F, 0.6F, 1.7F}));
       },
       0.031F},
      {"VolumePools", volume,
       [](QdqNet& net) {
         const auto top = net.qdq(net.op("MaxPool", "max", {in(net)},
                                         {{"kernel_shape", Ints{2, 3, 2}},
                                          {"pads", Ints{1, 1, 0, 0, 1, 1}},
                                          {"strides", Ints{1, 1, 2}}}),
                                  0.02F, 117);
         net.output(net.qdq(net.op("AveragePool", "mean", {top},
                                   {{"kernel_shape", Ints{2, 2, 3}},
                                    {"pads", Ints{0, 1, 1, 1, 0, 1}},
                                    {"count_include_pad", std::int64_t{1}}}),
                            0.01F, 100));
       },
       0.01F},
      {"MeanOfVolumes", volume,
       [](QdqNet& net) { net.output(net.op("GlobalAveragePool", "mean", {in(net)})); }, 0.0F},
  };
}

std::vector<ShapeCase> image_cases() {
  const Shape image{2, 6, 9, 7};
  return {
      {"ReduceMeanWithoutItsAxes", image,
       [](QdqNet& net) {
         net.output(net.qdq(net.op("ReduceMean", "mean", {in(net)},
                                   {{"axes", Ints{-1, 2}}, {"keepdims", std::int64_t{0}}}),
                            0.004F, 100));
       },
       0.004F},
      {"ReduceMeanWithFloatOutput", image,
       [](QdqNet& net) {
         net.output(net.op("ReduceMean", "mean", {in(net)}, {{"axes", Ints{2, 3}}}));
       },
       0.0F},
      {"LinearResize", image,
       [](QdqNet& net) {
         net.constant("sizes", Tensor::of<std::int64_t>({4}, {2, 6, 14, 11}));
         net.output(net.qdq(net.op("Resize", "larger", {in(net), "", "", "sizes"},
                                   {{"mode", std::string("linear")}}),
                            0.02F, 117));
       },
       0.02F},
      {"LinearResizeToAnotherScale", image,
       [](QdqNet& net) {
         resize_to_another_scale(net, Tensor::of<float>({4}, {1.0F, 1.0F, 0.7F, 2.3F}));
       },
       0.031F},
      {"InstanceNormalization", image,
       [](QdqNet& net) {
         net.constant("s", random_floats({6}, 31, 0.2F, 2.0F));
         net.constant("t", random_floats({6}, 32, -1.0F, 1.0F));
         net.output(
             net.qdq(net.op("InstanceNormalization", "norm", {in(net), "s", "t"}), 0.03F, 120));
       },
       0.03F},
      {"InstanceNormalizationOfManyPixels",
       {1, 70, 19, 17},
       [](QdqNet& net) {
         net.constant("s", random_floats({70}, 31, 0.2F, 2.0F));
         net.constant("t", random_floats({70}, 32, -1.0F, 1.0F));
         const auto y = net.qdq(
             net.op("MaxPool", "last", {in(net)}, {{"kernel_shape", Ints{1, 1}}}), 0.02F, 117);
         net.output(net.qdq(net.op("InstanceNormalization", "norm", {y, "s", "t"}), 0.03F, 120));
       },
       0.03F},
      {"InstanceNormalizationWithFloatOutput",
       {2, 3, 400},
       [](QdqNet& net) {
         net.constant("s", random_floats({3}, 31, 0.2F, 2.0F));
         net.constant("t", random_floats({3}, 32, -1.0F, 1.0F));
         net.output(net.op("InstanceNormalization", "norm", {in(net), "s", "t"}));
       },
       0.0F},
      {"ArgMaxOfBytes", image,
       [](QdqNet& net) {
         const auto best =
             net.op("ArgMax", "best", {in(net)},
                    {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}});
         net.output(net.op("Cast", "real", {best}, {{"to", std::int64_t{1}}}));
       },
       1.0F, Agreement::kSameBits},
  };
}

class IntegerShapes : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(IntegerShapes, AgreeWithTheSpecification) {
  const ShapeCase& test = GetParam();
  QdqNet net;
  const ValueId x_id = net.graph.add_value("x");
  std::vector<Dim> dims;
  for (const std::int64_t dim : test.shape.dims()) dims.push_back({dim, {}});
  net.graph.declare(x_id, DType::kFloat32, std::move(dims));
  net.graph.add_input(x_id);
  test.build(net);
  net.graph.check();
  const Executor executor(net.graph);
  const auto reference = executor.compile({}, {.lowering = Lowering::kReference});
  const Tensor x = random_floats(test.shape, 5, -2.5F, 2.9F);
  const std::vector<TensorView> inputs{x};
  Workspace slow_workspace;
  const auto slow = reference->run(inputs, slow_workspace)[0].values<float>();
  std::vector<float> first;
  for (const int threads : {1, 3}) {
    const auto integer = executor.compile({}, {.threads = threads});
    for (const StepInfo& step : integer->steps()) {
      const bool edge = step.op_type == "QuantizeLinear" || step.op_type == "DequantizeLinear" ||
                        step.op_type == "Reorder" || step.op_type == "Cast";
      EXPECT_TRUE(step.integer || edge) << step.op_type << " '" << step.node << "' stayed in FP32";
    }
    Workspace fast_workspace;
    const auto fast = integer->run(inputs, fast_workspace)[0].values<float>();
    ASSERT_EQ(fast.size(), slow.size());
    std::size_t off = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      const float difference = std::abs(fast[i] - slow[i]);
      if (test.agreement == Agreement::kSameBits) {
        ASSERT_EQ(fast[i], slow[i]) << "element " << i;
      }
      const float allowed =
          test.step > 0.0F ? 1.01F * test.step : 2e-4F + 1e-4F * std::abs(slow[i]);
      ASSERT_LE(difference, allowed) << "element " << i;
      if (test.step > 0.0F && difference > 0.5F * test.step) ++off;
    }
    EXPECT_LE(off * 50, fast.size()) << off << " of " << fast.size() << " are one step off";
    if (first.empty()) first.assign(fast.begin(), fast.end());
    EXPECT_TRUE(std::ranges::equal(first, fast)) << threads << " threads";
  }
}

const auto kName = [](const auto& test) { return std::string(test.param.name); };
INSTANTIATE_TEST_SUITE_P(Pairs, IntegerShapes, ::testing::ValuesIn(pair_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Rows, IntegerShapes, ::testing::ValuesIn(row_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Volumes, IntegerShapes, ::testing::ValuesIn(volume_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Images, IntegerShapes, ::testing::ValuesIn(image_cases()), kName);

// No step between two convolutions over one axis changes a layout.
TEST(IntegerShapes, RowsStayImagesBetweenConvolutions) {
  QdqNet net;
  net.input("x", {1, 6, 31});
  const auto a = net.qdq(
      net.op("Conv", "a", {net.qdq("x", 0.02F, 117), net.weights("v", {6, 6, 3}, 0)}), 0.05F, 100);
  const auto b = net.op("Conv", "b", {a, net.weights("w", {4, 6, 3}, 0)});
  net.output(net.qdq(b, 0.05F, 100));
  std::vector<std::string> between;
  bool inside = false;
  const auto plan = Executor(net.graph).compile({});
  for (const StepInfo& step : plan->steps()) {
    if (step.node == "b") inside = false;
    if (inside) between.push_back(step.op_type);
    if (step.node == "a") inside = true;
  }
  EXPECT_EQ(between, std::vector<std::string>{});
}

}  // namespace
}  // namespace qtool
