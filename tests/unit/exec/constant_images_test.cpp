// Integer operators that read images, where an image is a constant or computed from constants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
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
    float largest = 0.0F;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      largest = std::max(largest, std::abs(fast[i] - slow[i]));
    }
    EXPECT_LE(largest, 0.051F);
  }
}

}  // namespace
}  // namespace qtool
