// Operators that read images, where an image is a constant or computed from constants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "unit/qdq_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

/// Makes a tensor [1, 4, 6, 5] of the constant image "image_out" [1, 4, 6, 5].
struct ImageReader {
  const char* name;
  std::function<std::string(QdqNet&)> add;
};

std::vector<ImageReader> image_readers() {
  const Ints around{1, 1, 1, 1};
  const std::map<std::string, Attribute, std::less<>> window{{"kernel_shape", Ints{3, 3}},
                                                             {"pads", around}};
  const auto conv_of = [=](QdqNet& net, const std::string& image) {
    net.weights("w", {4, 4, 3, 3}, 0);
    return net.op("Conv", "y", {image, "w_out"}, {{"pads", around}});
  };
  return {
      {"Conv", [=](QdqNet& net) { return conv_of(net, "image_out"); }},
      {"ConvOfAMovedImage",
       [=](QdqNet& net) {
         const auto turned =
             net.op("Transpose", "turn", {"image_out"}, {{"perm", Ints{0, 1, 3, 2}}});
         net.constant("shape", Tensor::of<std::int64_t>({4}, {1, 4, 6, 5}));
         return conv_of(net, net.op("Reshape", "again", {turned, "shape"}));
       }},
      {"ConvOfAnImageQuantizedAgain",
       [=](QdqNet& net) { return conv_of(net, net.qdq("image_out", 0.02F, 117)); }},
      {"ConvOfAFunction",
       [=](QdqNet& net) {
         return conv_of(net, net.qdq(net.op("Relu", "relu", {"image_out"}), 0.02F, 117));
       }},
      {"ConvOverOneAxis",
       [=](QdqNet& net) {
         net.constant("row_q", random_integers<std::uint8_t>({1, 4, 30}, 0, 255, 34));
         net.op("DequantizeLinear", "row", {"row_q", "image_s", "image_z"});
         net.weights("w", {4, 4, 3}, 0);
         const auto row = net.op("Conv", "conv", {"row_out", "w_out"}, {{"pads", Ints{1, 1}}});
         net.constant("shape", Tensor::of<std::int64_t>({4}, {1, 4, 6, 5}));
         return net.op("Reshape", "y", {net.qdq(row, 0.05F, 100), "shape"});
       }},
      {"Concat",
       [=](QdqNet& net) {
         const auto channels = net.qdq(conv_of(net, net.qdq("x", 0.02F, 117)), 0.02F, 117);
         const auto both =
             net.op("Concat", "both", {"image_out", channels}, {{"axis", std::int64_t{1}}});
         net.constant("starts", Tensor::of<std::int64_t>({1}, {2}));
         net.constant("ends", Tensor::of<std::int64_t>({1}, {6}));
         net.constant("axes", Tensor::of<std::int64_t>({1}, {1}));
         return net.op("Slice", "part", {net.qdq(both, 0.05F, 100), "starts", "ends", "axes"});
       }},
      {"ConvTranspose",
       [=](QdqNet& net) {
         net.weights("w", {4, 4, 3, 3}, 1);
         return net.op("ConvTranspose", "y", {"image_out", "w_out"}, {{"pads", around}});
       }},
      {"AveragePool",
       [=](QdqNet& net) { return net.op("AveragePool", "y", {"image_out"}, window); }},
      {"MaxPool", [=](QdqNet& net) { return net.op("MaxPool", "y", {"image_out"}, window); }},
      {"GlobalAveragePool",
       [](QdqNet& net) { return net.op("GlobalAveragePool", "y", {"image_out"}); }},
      {"InstanceNormalization",
       [](QdqNet& net) {
         net.constant("s", random_floats({4}, 31, 0.2F, 2.0F));
         net.constant("t", random_floats({4}, 32, -1.0F, 1.0F));
         return net.op("InstanceNormalization", "y", {"image_out", "s", "t"});
       }},
      {"Resize",
       [](QdqNet& net) {
         net.constant("sizes", Tensor::of<std::int64_t>({4}, {1, 4, 9, 7}));
         net.constant("part", Tensor::of<std::int64_t>({4}, {1, 4, 6, 5}));
         net.constant("zeros", Tensor::of<std::int64_t>({4}, {0, 0, 0, 0}));
         const auto larger = net.op("Resize", "larger", {"image_out", "", "", "sizes"},
                                    {{"mode", std::string("linear")}});
         return net.op("Slice", "y", {net.qdq(larger, 0.05F, 100), "zeros", "part"});
       }},
  };
}

float furthest_apart(std::span<const float> a, std::span<const float> b) {
  float largest = 0.0F;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Constants are stored in plain layout, also those that an operator of images reads, and those that
// are computed from other constants.
TEST(ConstantImages, AreReadInTheirLayout) {
  for (const ImageReader& reader : image_readers()) {
    SCOPED_TRACE(reader.name);
    QdqNet net;
    net.input("x", {1, 4, 6, 5});
    net.constant("image_q", random_integers<std::uint8_t>({1, 4, 6, 5}, 0, 255, 33));
    net.constant("image_s", Tensor::scalar<float>(0.02F));
    net.constant("image_z", Tensor::scalar<std::uint8_t>(117));
    net.op("DequantizeLinear", "image", {"image_q", "image_s", "image_z"});
    const auto y = net.qdq(reader.add(net), 0.05F, 100);
    net.output(net.op("Add", "sum", {y, "x"}));
    net.graph.check();
    const Executor executor(net.graph);
    const Tensor x = random_floats({1, 4, 6, 5}, 5, -2.5F, 2.9F);
    const std::vector<TensorView> images{x};
    Workspace fast_workspace;
    Workspace slow_workspace;
    const auto reference = executor.compile({}, {.lowering = Lowering::kReference});
    const auto slow = reference->run(images, slow_workspace)[0].values<float>();
    const auto fast = executor.compile({})->run(images, fast_workspace)[0].values<float>();
    ASSERT_EQ(fast.size(), slow.size());
    EXPECT_LE(furthest_apart(fast, slow), 0.051F);
  }
}

/// Makes a result from an image [1, 8, 12, 10] and weights [8, 8, 3, 3].
struct FloatReader {
  const char* name;
  std::function<std::string(Net&)> add;
};

std::vector<FloatReader> float_readers() {
  const auto weighted = [](const char* op_type) {
    return [=](Net& net) { return net.op(op_type, "y", {"image", "weights"}); };
  };
  const auto pool = [](const char* op_type) {
    return [=](Net& net) {
      return net.op(op_type, "y", {"image"}, {{"kernel_shape", Ints{3, 3}}});
    };
  };
  return {{"MaxPool", pool("MaxPool")},
          {"AveragePool", pool("AveragePool")},
          {"LpPool", pool("LpPool")},
          {"ConvTranspose", weighted("ConvTranspose")},
          {"Conv", weighted("Conv")}};
}

// Uses up the bytes that folding may compute, 128 MiB and 16 times the constants, but for less than
// 2 KiB: each Expand is folded if its result fits into what is left.
void spend_fold_budget(Net& net) {
  net.constant("one", Tensor::scalar<float>(1));
  int count = 0;
  for (const std::int64_t kib : {64 << 10, 64 << 10, 64, 32, 16, 8, 4, 2}) {
    const std::string name = "large" + std::to_string(count++);
    net.constant(name + "_size", Tensor::of<std::int64_t>({1}, {kib * 256}));
    net.output(
        net.op("ReduceMax", name + "_max", {net.op("Expand", name, {"one", name + "_size"})}));
  }
}

// The result where the image is a constant, or where it is an input.
std::vector<float> result_where(const FloatReader& reader, const Tensor& image, bool constant) {
  Net net;
  net.input("weights", {8, 8, 3, 3});
  if (constant) {
    spend_fold_budget(net);
    net.constant("image", image.clone());
  } else {
    net.input("image", image.shape().dims());
  }
  net.output(reader.add(net));
  const Tensor weights = random_floats({8, 8, 3, 3}, 6, -1.0F, 1.0F);
  std::vector<TensorView> inputs{weights};
  if (!constant) inputs.emplace_back(image);
  Workspace workspace;
  const auto plan = Executor(net.graph).compile({});
  const auto values = plan->run(inputs, workspace).back().values<float>();
  return {values.begin(), values.end()};
}

TEST(ConstantImages, AreReadByFloatOperatorsThatAreNotFolded) {
  const Tensor image = random_floats({1, 8, 12, 10}, 5, -2.5F, 2.9F);
  for (const FloatReader& reader : float_readers()) {
    SCOPED_TRACE(reader.name);
    const std::vector<float> expected = result_where(reader, image, false);
    const std::vector<float> found = result_where(reader, image, true);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_LE(furthest_apart(found, expected), 1e-4F);
  }
}

}  // namespace
}  // namespace qtool
