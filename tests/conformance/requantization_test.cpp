// Compares the executor's integer-only paths with a naive interpreter of the quantized graph, which
// requantizes by the published definitions. Both must give the same bits, for small graphs and for
// real networks.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/absent.h"
#include "support/integer_interpreter.h"
#include "support/places.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

constexpr Requantization kIntegerPaths[] = {Requantization::kGemmlowp, Requantization::kSingle};

/// Checks that the executor gives the bits of the interpreter, on one thread and on two.
void expect_interpreted(const Graph& quantized, const Tensor& input) {
  const Executor executor(prepare(quantized));
  const std::string& name = executor.graph().value(executor.graph().inputs()[0]).name;
  for (const Requantization path : kIntegerPaths) {
    const std::vector<float> expected = tests::Interpreter(executor.graph(), path).run(input);
    for (const int threads : {1, 2}) {
      const auto plan =
          executor.compile({{name, input.shape()}}, {.threads = threads, .requantization = path});
      Workspace workspace;
      const TensorView view = input;
      const auto got = plan->run({&view, 1}, workspace)[0].values<float>();
      ASSERT_EQ(got.size(), expected.size());
      std::size_t different = 0;
      for (std::size_t i = 0; i < got.size(); ++i) different += got[i] != expected[i] ? 1U : 0U;
      EXPECT_EQ(different, 0U) << "of " << got.size() << " outputs, " << name_of(path) << ", "
                               << threads << " threads";
    }
  }
}

struct IntegerNetwork {
  std::string name;
  fs::path model;
  fs::path images;
  std::string preprocess;  // JSON
};

std::ostream& operator<<(std::ostream& out, const IntegerNetwork& network) {
  return out << network.name;
}

std::vector<IntegerNetwork> integer_networks() {
  const fs::path own = fs::path(kSourceFolder) / "data";
  const fs::path shared = kSharedData;
  const std::string signs = read_file(own / "preprocess.json", 1 << 20);
  const std::string imagenet =
      R"("mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]})";
  const std::string squash = R"({"resize": {"mode": "squash", "width": 224, "height": 224},)";
  return {{"signs_mobilenet", own / "signs_mobilenet.onnx", own / "calib", signs},
          {"signs_resnet", own / "signs_resnet.onnx", own / "calib", signs},
          {"squeezenet", shared / "models/squeezenet1.1.onnx", shared / "images/photos/calib",
           squash + imagenet},
          {"mobilenet_v2", shared / "models/mobilenet_v2_1.0_224.onnx",
           shared / "images/photos/calib", squash + R"("mean": [127.5], "std": [127.5]})"},
          {"resnet20", shared / "models/cifar10_resnet20.onnx", shared / "images/cifar10/calib",
           "{" + imagenet}};
}

class RequantizationOf : public ::testing::TestWithParam<IntegerNetwork> {};

TEST_P(RequantizationOf, EqualsTheNaiveReferenceOnImages) {
  const IntegerNetwork& network = GetParam();
  if (!fs::exists(network.model)) GTEST_SKIP() << absent(network.model);
  const Graph graph = prepare(load_onnx(network.model));
  const Executor real(graph);
  CalibrateOptions calibration;
  calibration.method = "minmax";
  calibration.collect.preprocess = preprocess_from_json(network.preprocess);
  calibration.collect.tensors = tensors_to_calibrate(graph, find_target(kDefaultTarget));
  calibration.collect.model_fingerprint = fingerprint(graph);
  const ImageSet images = list_images(network.images, {}, 4);
  const CalibrationTable table = calibrate(real, images, calibration).table;
  const Quantized emitted = quantize(graph, table);
  const Graph& quantized = emitted.graph;
  std::vector<BadImage> bad;
  const auto image =
      load_preprocessed(images.entries[1], calibration.collect.preprocess, BadImages::kFail, bad);
  ASSERT_TRUE(image);
  expect_interpreted(quantized, *image);
}

INSTANTIATE_TEST_SUITE_P(Networks, RequantizationOf, ::testing::ValuesIn(integer_networks()),
                         [](const auto& test) { return test.param.name; });

/// Clusters of Q/DQ nodes that the real networks do not have.
class Clusters : public Net {
 public:
  std::string qdq(const std::string& real, float scale, int zero_point) {
    const std::string s = constant(real + "_s", Tensor::scalar<float>(scale));
    const std::string z =
        constant(real + "_z", Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(zero_point)));
    return op("DequantizeLinear", real + "_dq",
              {op("QuantizeLinear", real + "_q", {real, s, z}), s, z});
  }
  std::string weights(Shape shape) {
    Tensor values(DType::kInt8, shape);
    std::mt19937 random(3);
    for (std::int8_t& w : values.values<std::int8_t>()) {
      w = static_cast<std::int8_t>(static_cast<int>(random() % 255U) - 127);
    }
    Tensor scales(DType::kFloat32, {shape[0]});
    for (float& s : scales.values<float>()) {
      s = 0.001F + 0.00001F * static_cast<float>(random() % 1000U);
    }
    constant("w_q", std::move(values));
    constant("w_s", std::move(scales));
    return op("DequantizeLinear", "w", {"w_q", "w_s"}, {{"axis", std::int64_t{0}}});
  }
};

Tensor ramp(Shape shape) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  std::mt19937 random(11);
  for (float& x : tensor.values<float>())
    x = static_cast<float>(random() % 10000U) / 2000.0F - 2.5F;
  return tensor;
}

TEST(RequantizationOfClusters, EqualsTheNaiveReference) {
  using List = std::vector<std::int64_t>;
  const std::vector<std::pair<const char*, std::function<void(Clusters&, std::string)>>> cases = {
      {"grouped convolution, Clip",
       [](Clusters& net, const std::string& x) {
         const auto y = net.op("Conv", "conv", {x, net.weights({8, 3, 3, 3})},
                               {{"group", std::int64_t{2}}, {"pads", List{1, 1, 1, 1}}});
         net.constant("low", Tensor::scalar<float>(-1.0F));
         net.constant("high", Tensor::scalar<float>(4.0F));
         net.output(net.qdq(net.op("Clip", "clip", {y, "low", "high"}), 0.03F, 99));
       }},
      {"multipliers of 1 and more",
       [](Clusters& net, const std::string& x) {
         const auto y = net.op("Conv", "conv", {x, net.weights({5, 6, 1, 1})});
         net.output(net.qdq(y, 1e-5F, 120));
       }},
      {"product with a gate per channel",
       [](Clusters& net, const std::string& x) {
         const auto gate = net.qdq(net.op("GlobalAveragePool", "gap", {x}), 0.011F, 130);
         net.output(net.qdq(net.op("Mul", "mul", {x, gate}), 0.017F, 90));
       }},
      {"sum of unequal scales, Relu",
       [](Clusters& net, const std::string& x) {
         const auto y = net.qdq(net.op("AveragePool", "mean", {x},
                                       {{"kernel_shape", List{3, 3}}, {"pads", List{1, 1, 1, 1}}}),
                                0.0131F, 77);
         net.output(net.qdq(net.op("Relu", "relu", {net.op("Add", "add", {x, y})}), 0.029F, 4));
       }},
      {"convolution added to its input, Relu",
       [](Clusters& net, const std::string& x) {
         const auto y =
             net.op("Conv", "conv", {x, net.weights({6, 6, 3, 3})}, {{"pads", List{1, 1, 1, 1}}});
         net.output(net.qdq(net.op("Relu", "relu", {net.op("Add", "add", {y, x})}), 0.07F, 9));
       }},
      {"filter per channel added to its input, multipliers far from 1",
       [](Clusters& net, const std::string& x) {
         const auto y =
             net.op("Conv", "conv", {x, net.weights({6, 1, 1, 1})}, {{"group", std::int64_t{6}}});
         net.output(net.qdq(net.op("Add", "add", {x, y}), 1e-5F, 120));
       }},
      {"padding that counts",
       [](Clusters& net, const std::string& x) {
         net.output(net.qdq(net.op("AveragePool", "mean", {x},
                                   {{"kernel_shape", List{2, 3}},
                                    {"pads", List{1, 1, 0, 1}},
                                    {"strides", List{2, 1}},
                                    {"count_include_pad", std::int64_t{1}}}),
                            0.013F, 77));
       }},
      {"Concat of unequal scales",
       [](Clusters& net, const std::string& x) {
         const auto y = net.qdq(net.op("GlobalAveragePool", "gap", {x}), 0.011F, 130);
         const auto z =
             net.qdq(net.op("MaxPool", "max", {x}, {{"kernel_shape", List{9, 7}}}), 0.02F, 117);
         net.output(
             net.qdq(net.op("Concat", "concat", {y, z}, {{"axis", std::int64_t{1}}}), 0.017F, 100));
       }},
      {"change of scale",
       [](Clusters& net, const std::string& x) {
         net.output(net.qdq(net.op("Identity", "same", {x}), 0.0307F, 60));
       }},
  };
  for (const auto& [name, build] : cases) {
    SCOPED_TRACE(name);
    Clusters net;
    net.input("x", {1, 6, 9, 7});
    build(net, net.qdq("x", 0.02F, 117));
    net.graph.check();
    expect_interpreted(net.graph, ramp({1, 6, 9, 7}));
  }
}

TEST(RequantizationOfClusters, DoesNotDependOnTheBatch) {
  const auto graph_of = [](std::int64_t batch) {
    Clusters net;
    net.input("x", {batch, 6, 9, 7});
    const auto x = net.qdq("x", 0.02F, 117);
    const auto y = net.qdq(net.op("Conv", "conv", {x, net.weights({6, 6, 3, 3})},
                                  {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}),
                           0.03F, 99);
    const auto mean = net.qdq(net.op("GlobalAveragePool", "gap", {y}), 0.01F, 100);
    net.output(
        net.qdq(net.op("Add", "add", {x, net.qdq(net.op("Mul", "mul", {y, mean}), 0.02F, 110)}),
                0.03F, 120));
    return net.graph;
  };
  const Executor together_executor(graph_of(3));
  const Executor alone_executor(graph_of(1));
  const Tensor images = ramp({3, 6, 9, 7});
  const std::int64_t size = images.elements() / 3;
  for (const Requantization path : kIntegerPaths) {
    Workspace workspace;
    const TensorView view = images;
    const auto together = together_executor.compile({}, {.threads = 2, .requantization = path})
                              ->run({&view, 1}, workspace)[0]
                              .values<float>();
    const auto one = alone_executor.compile({}, {.requantization = path});
    for (std::int64_t i = 0; i < 3; ++i) {
      Workspace own;
      const TensorView single(images.data() + i * size * 4, DType::kFloat32, {1, 6, 9, 7});
      const auto alone = one->run({&single, 1}, own)[0].values<float>();
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + i * size));
    }
  }
}

}  // namespace
}  // namespace qtool
