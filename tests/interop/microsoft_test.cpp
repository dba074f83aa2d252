// Compares models with ONNX Runtime's own operators (com.microsoft), as its optimizer and its
// quantizer write them, with ONNX Runtime itself.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "support/absent.h"
#include "support/places.h"
#include "support/random_floats.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;
using Attributes = Node::AttributeMap;

double sqnr_db_of(std::span<const float> reference, std::span<const float> other) {
  double signal = 0.0;
  double noise = 1e-30;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    signal += double{reference[i]} * double{reference[i]};
    noise += std::pow(double{reference[i]} - double{other[i]}, 2);
  }
  return 10.0 * std::log10(signal / noise);
}

class MicrosoftOperators : public testing::Test {
 protected:
  void SetUp() override {
    if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  }
};

/// A model of one operator between float32 tensors; a QuantizeLinear before it makes its integer
/// operands.
class Model {
 public:
  Model(std::string op, Attributes attributes) {
    graph_.info.opsets = {{"", 13}, {"com.microsoft", 1}};
    node_.name = "node";
    node_.op_type = std::move(op);
    node_.domain = "com.microsoft";
    node_.attributes = std::move(attributes);
  }
  Model& reals(const Ints& dims) {
    node_.inputs.push_back(input(dims));
    return *this;
  }
  Model& constant(Tensor tensor) {
    node_.inputs.push_back(add_constant(std::move(tensor)));
    return *this;
  }
  Model& none() {
    node_.inputs.push_back(kNoValue);
    return *this;
  }
  /// Adds integers, their scale and their zero point as inputs, in this order.
  template <typename Q>
  Model& integers(const Ints& dims, float scale, Q zero_point) {
    const ValueId s = add_constant(Tensor::scalar(scale));
    const ValueId z = add_constant(Tensor::scalar(zero_point));
    const ValueId q = graph_.add_value(graph_.unique_name("q"));
    graph_.add_node({"", "QuantizeLinear", "", {input(dims), s, z}, {q}, {}});
    for (const ValueId value : {q, s, z}) node_.inputs.push_back(value);
    return *this;
  }
  template <typename Q>
  Model& scale(float scale, Q zero_point) {
    constant(Tensor::scalar(scale));
    return constant(Tensor::scalar(zero_point));
  }
  /// Completes the model. Its output is the float32 result. With `result` the integer result is
  /// dequantized by the scale at that input and the zero point at the next one.
  Graph finish(std::optional<std::size_t> result, const std::string& domain = "") {
    const ValueId y = graph_.add_value("y");
    const std::vector<ValueId> inputs = node_.inputs;
    node_.outputs = {result ? graph_.add_value("yq") : y};
    const ValueId computed = node_.outputs[0];
    graph_.add_node(std::move(node_));
    if (result) {
      const std::vector<ValueId> from{computed, inputs[*result], inputs[*result + 1]};
      graph_.add_node({"", "DequantizeLinear", domain, from, {y}, {}});
    }
    graph_.declare(y, DType::kFloat32, std::nullopt);
    graph_.add_output(y);
    return std::move(graph_);
  }

 private:
  ValueId add_constant(Tensor tensor) {
    return graph_.add_constant(graph_.unique_name("c"), std::move(tensor));
  }
  ValueId input(const Ints& dims) {
    const ValueId x = graph_.add_value(graph_.unique_name("x"));
    std::vector<Dim> shape;
    for (const std::int64_t dim : dims) shape.push_back({dim, {}});
    graph_.declare(x, DType::kFloat32, shape);
    graph_.add_input(x);
    return x;
  }

  Graph graph_;
  Node node_;
};

/// Runs the model in our executor and in ONNX Runtime. The largest difference may be `tolerance`.
void compare_node(const std::string& name, const Graph& graph, double tolerance) {
  SCOPED_TRACE(name);
  const TemporaryFolder folder;
  const fs::path saved = folder.path / "model.onnx";
  save_onnx(graph, saved);
  const Executor executor(prepare(load_onnx(saved)));
  const auto plan = executor.compile({});
  std::vector<Tensor> inputs;
  std::vector<NamedTensor> named;
  for (const PortInfo& port : plan->inputs()) {
    inputs.push_back(random_floats(port.shape, static_cast<unsigned>(inputs.size()), -2.0F, 2.0F));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    named.push_back({plan->inputs()[i].name, inputs[i]});
  }
  const OtherRun other = run_other(saved, named, folder.path);
  if (other.outputs.empty()) return;
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  Workspace workspace;
  const auto ours = plan->run(views, workspace)[0].values<float>();
  ASSERT_EQ(ours.size(), other.outputs[0].size());
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    worst = std::max(worst, std::abs(double{ours[i]} - double{other.outputs[0][i]}));
  }
  std::printf("%s: largest difference %.2g, allowed %.2g\n", name.c_str(), worst, tolerance);
  EXPECT_LE(worst, tolerance);
}

Tensor bytes(Shape shape, DType dtype) {
  Tensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data()[i] = static_cast<std::byte>((37 * i + 11) % 256);
  }
  return tensor;
}

constexpr double kSame = 1e-6;  // the same integers, or the same float32 operations

TEST_F(MicrosoftOperators, OnIntegersGiveTheNumbersOfOnnxRuntime) {
  if (!other_is_exact()) GTEST_SKIP() << "without VNNI ONNX Runtime's products may saturate";
  const std::uint8_t z = 120;
  const std::int8_t s = 5;
  const Ints image{1, 3, 6, 5};
  const Ints last{1, 6, 5, 3};
  const Attribute yes = std::int64_t{1};
  const Attribute no = std::int64_t{0};
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    compare_node(op,
                 Model(op, {})
                     .integers<std::uint8_t>(image, 0.0171F, z)
                     .integers<std::uint8_t>({3, 1, 1}, 0.0131F, 100)
                     .scale<std::uint8_t>(0.0317F, 128)
                     .finish(6),
                 kSame);
    compare_node(op,
                 Model(op, {})
                     .integers<std::int8_t>(image, 0.0171F, s)
                     .integers<std::int8_t>(image, 0.0131F, -3)
                     .scale<std::int8_t>(0.0317F, 1)
                     .finish(6),
                 kSame);
  }
  compare_node("QLinearConcat",
               Model("QLinearConcat", {{"axis", yes}})
                   .scale<std::uint8_t>(0.0317F, 128)
                   .integers<std::uint8_t>(image, 0.0171F, z)
                   .integers<std::uint8_t>({1, 2, 6, 5}, 0.0131F, 100)
                   .finish(0),
               kSame);
  for (const Attribute& place : {no, yes}) {
    const Ints& dims = place == yes ? last : image;
    compare_node("QLinearGlobalAveragePool",
                 Model("QLinearGlobalAveragePool", {{"channels_last", place}})
                     .integers<std::uint8_t>(dims, 0.0171F, z)
                     .scale<std::uint8_t>(0.0057F, 128)
                     .finish(3),
                 kSame);
    // If the channels are not last, ONNX Runtime rounds means that are ties differently.
    compare_node("QLinearAveragePool",
                 Model("QLinearAveragePool", {{"channels_last", place},
                                              {"kernel_shape", Ints{3, 2}},
                                              {"strides", Ints{2, 1}},
                                              {"pads", Ints{1, 0, 1, 1}}})
                     .integers<std::uint8_t>(dims, 0.0171F, z)
                     .scale<std::uint8_t>(0.0097F, 128)
                     .finish(3),
                 0.0097 + kSame);
    compare_node("QLinearConv",
                 Model("QLinearConv", {{"channels_last", place}, {"pads", Ints{1, 1, 1, 1}}})
                     .integers<std::uint8_t>(dims, 0.0171F, z)
                     .constant(bytes({4, 3, 3, 3}, DType::kInt8))
                     .scale<std::int8_t>(0.0031F, 0)
                     .scale<std::uint8_t>(0.0317F, 128)
                     .constant(Tensor::of<std::int32_t>({4}, {100, -2000, 300, 4000}))
                     .finish(6),
                 kSame);
  }
  compare_node("QLinearSigmoid",
               Model("QLinearSigmoid", {})
                   .integers<std::uint8_t>(image, 0.0171F, z)
                   .scale<std::uint8_t>(1.0F / 256, 0)
                   .finish(3),
               kSame);
  compare_node("QLinearLeakyRelu",
               Model("QLinearLeakyRelu", {{"alpha", 0.1F}})
                   .integers<std::int8_t>(image, 0.0171F, s)
                   .scale<std::int8_t>(0.0157F, -2)
                   .finish(3),
               kSame);
  // ONNX Runtime sums the exponentials in fixed point, so the result may differ by one step.
  for (const std::int64_t opset : {11, 12, 13, 14}) {
    Attributes attributes = {{"opset", opset}};
    if (opset == 12 || opset == 13) attributes["axis"] = std::int64_t{1};
    compare_node("QLinearSoftmax",
                 Model("QLinearSoftmax", attributes)
                     .integers<std::uint8_t>({4, 6, 5}, 0.0171F, z)
                     .scale<std::uint8_t>(1.0F / 256, 0)
                     .finish(3),
                 1.0 / 256 + kSame);
  }
}

TEST_F(MicrosoftOperators, OfQuantizationTo16BitsGiveTheNumbersOfOnnxRuntime) {
  for (const bool is_signed : {false, true}) {
    Model model("QuantizeLinear", {});
    model.reals({3, 50});
    if (is_signed) {
      model.scale<std::int16_t>(0.00013F, -300);
    } else {
      model.scale<std::uint16_t>(0.000031F, 40000);  // saturates at both ends
    }
    const Graph graph = model.finish(1, "com.microsoft");
    compare_node("QuantizeLinear", graph, 1e-7);
    compare_node("QuantizeLinear, prepared", prepare(graph), 1e-7);
  }
}

TEST_F(MicrosoftOperators, MultiplyAsOnnxRuntimeDoes) {
  if (!other_is_exact()) GTEST_SKIP() << "without VNNI ONNX Runtime's products may saturate";
  const Tensor row = Tensor::of<std::int32_t>({5}, {1000, -2000, 300, 0, 5});
  const Tensor scales = Tensor::of<float>({5}, {0.01F, 0.02F, 0.005F, 0.003F, 0.015F});
  const auto gemm = [&](const Attributes& attributes) {
    Model model("QGemm", attributes);
    model.integers<std::uint8_t>({3, 7}, 0.0171F, 120)
        .constant(bytes(attributes.contains("transB") ? Shape{5, 7} : Shape{7, 5}, DType::kInt8))
        .constant(scales.clone())
        .constant(Tensor(DType::kInt8, {5}))
        .constant(row.clone());
    return model;
  };
  compare_node("QGemm", gemm({}).scale<std::uint8_t>(0.131F, 128).finish(7), kSame);
  compare_node("QGemm, transposed, scaled",
               gemm({{"transB", std::int64_t{1}}, {"alpha", 0.5F}})
                   .scale<std::uint8_t>(0.131F, 128)
                   .finish(7),
               kSame);
  compare_node("QGemm to reals", gemm({}).finish(std::nullopt), 1e-4);
  compare_node("DynamicQuantizeMatMul",
               Model("DynamicQuantizeMatMul", {})
                   .reals({3, 7})
                   .constant(bytes({7, 5}, DType::kInt8))
                   .constant(scales.clone())
                   .constant(Tensor(DType::kInt8, {5}))
                   .constant(Tensor::of<float>({5}, {1, 2, 3, 4, 5}))
                   .finish(std::nullopt),
               1e-4);
  Tensor packed = bytes({5, 3, 8}, DType::kUInt8);
  Tensor zeros = bytes({5, 2}, DType::kUInt8);
  compare_node("MatMulNBits",
               Model("MatMulNBits", {{"K", std::int64_t{37}},
                                     {"N", std::int64_t{5}},
                                     {"bits", std::int64_t{4}},
                                     {"block_size", std::int64_t{16}}})
                   .reals({3, 37})
                   .constant(std::move(packed))
                   .constant(random_floats({5, 3}, 3, 0.01F, 0.1F))
                   .constant(std::move(zeros))
                   .finish(std::nullopt),
               1e-4);
}

TEST_F(MicrosoftOperators, FusedGiveTheNumbersOfOnnxRuntime) {
  const auto random = [](Shape shape) { return random_floats(std::move(shape), 9); };
  const auto text = [](const char* value) { return std::string(value); };
  compare_node("Gelu", Model("Gelu", {}).reals({3, 4}).finish(std::nullopt), 1e-5);
  compare_node("FastGelu", Model("FastGelu", {}).reals({3, 4}).constant(random({4})).finish({}),
               1e-5);
  compare_node("BiasGelu", Model("BiasGelu", {}).reals({3, 4}).constant(random({4})).finish({}),
               1e-5);
  compare_node("QuickGelu", Model("QuickGelu", {}).reals({3, 4}).finish({}), 1e-5);
  for (const bool batch : {false, true}) {
    Attributes attributes = {{"alpha", 0.25F}, {"transA", std::int64_t{1}}};
    attributes["transBatchA"] = std::int64_t{batch ? 1 : 0};
    compare_node("FusedMatMul",
                 Model("FusedMatMul", attributes)
                     .reals(batch ? Ints{3, 2, 5, 4} : Ints{2, 5, 3, 4})
                     .reals({2, 5, 3, 6})
                     .finish({}),
                 1e-5);
  }
  compare_node("FusedGemm",
               Model("FusedGemm", {{"activation", text("LeakyRelu")},
                                   {"activation_alpha", 0.2F},
                                   {"alpha", 0.5F},
                                   {"beta", 2.0F},
                                   {"transB", std::int64_t{1}}})
                   .reals({3, 4})
                   .constant(random({5, 4}))
                   .constant(random({5}))
                   .finish({}),
               1e-5);
  compare_node("FusedConv",
               Model("FusedConv", {{"activation", text("HardSigmoid")},
                                   {"activation_params", std::vector<float>{0.3F, 0.4F}},
                                   {"pads", Ints{1, 1, 1, 1}}})
                   .reals({1, 2, 4, 5})
                   .constant(random({3, 2, 3, 3}))
                   .constant(random({3}))
                   .reals({1, 3, 4, 5})
                   .finish({}),
               1e-5);
  compare_node("SkipLayerNormalization",
               Model("SkipLayerNormalization", {{"epsilon", 1e-5F}})
                   .reals({2, 3, 8})
                   .reals({2, 3, 8})
                   .constant(random({8}))
                   .constant(random({8}))
                   .constant(random({8}))
                   .finish({}),
               1e-5);
}

// ---- whole networks ----

Preprocess signs_preprocess() {
  const fs::path path = fs::path(kSourceFolder) / "data/preprocess.json";
  return preprocess_from_json(read_file(path, 1 << 20));
}

/// The worst SQNR between our results of `model` and ONNX Runtime's results of `judged`, on images
/// of the example data.
double worst_db(const fs::path& model, const fs::path& judged, const fs::path& folder) {
  const Executor executor(prepare(load_onnx(model)));
  const auto plan = executor.compile({});
  const ImageSet images = list_images(fs::path(kSourceFolder) / "data/calib", {}, 3);
  double worst = 1e9;
  Workspace workspace;
  std::vector<BadImage> bad;
  for (const auto& entry : images.entries) {
    const auto image = load_preprocessed(entry, signs_preprocess(), BadImages::kFail, bad);
    const OtherRun other = run_other(judged, {{plan->inputs()[0].name, *image}}, folder);
    if (other.outputs.empty()) return 0;
    const TensorView input = *image;
    const auto ours = plan->run({&input, 1}, workspace)[0].values<float>();
    worst = std::min(worst, sqnr_db_of(other.outputs[0], ours));
  }
  return worst;
}

std::int64_t count_microsoft(const fs::path& model) {
  const Graph graph = load_onnx(model);
  return std::ranges::count_if(graph.nodes(),
                               [&](NodeId id) { return graph.node(id).domain == "com.microsoft"; });
}

TEST_F(MicrosoftOperators, OfOptimizedNetworksGiveTheSameNumbers) {
  for (const char* name : {"signs_mobilenet", "signs_resnet"}) {
    SCOPED_TRACE(name);
    const fs::path model = fs::path(kSourceFolder) / "data" / (std::string(name) + ".onnx");
    const TemporaryFolder folder;
    const fs::path optimized = folder.path / "optimized.onnx";
    if (!optimize_other(model, "extended", optimized)) return;
    EXPECT_GT(count_microsoft(optimized), 0);
    const double db = worst_db(optimized, model, folder.path);
    std::printf("%s, optimized: %.1f dB\n", name, db);
    EXPECT_GE(db, 90.0);
  }
}

// ONNX Runtime turns our QDQ model into QLinearConv, QLinearAdd and QGemm, with channels last at
// the highest optimization level.
TEST_F(MicrosoftOperators, OfOptimizedIntegerNetworksStayOnIntegers) {
  for (const char* name : {"signs_mobilenet", "signs_resnet"}) {
    const Graph graph =
        prepare(load_onnx(fs::path(kSourceFolder) / "data" / (std::string(name) + ".onnx")));
    CalibrateOptions options;
    options.collect.preprocess = signs_preprocess();
    options.collect.model_fingerprint = fingerprint(graph);
    options.types.weight_pairs = WeightPairs::kLimited;  // exact without VNNI, too
    const ImageSet images = list_images(fs::path(kSourceFolder) / "data/calib", {}, 20);
    const CalibrationTable table = calibrate(Executor(graph), images, options).table;
    const TemporaryFolder folder;
    const fs::path model = folder.path / "qdq.onnx";
    save_onnx(quantize(graph, table).graph, model);
    for (const char* level : {"extended", "all"}) {
      SCOPED_TRACE(std::string(name) + ", " + level);
      const fs::path optimized = folder.path / (std::string(level) + ".onnx");
      if (!optimize_other(model, level, optimized)) return;
      EXPECT_GT(count_microsoft(optimized), 0);
      const double db = worst_db(optimized, model, folder.path);
      const Executor executor(prepare(load_onnx(optimized)));
      const Coverage coverage = coverage_of(*executor.compile({}));
      std::printf("%s, optimized (%s): %.1f dB, %lld of %lld MACs on integers\n", name, level, db,
                  static_cast<long long>(coverage.integer_macs),
                  static_cast<long long>(coverage.macs));
      EXPECT_GE(db, 45.0);  // as in onnxruntime_test.cpp
      EXPECT_EQ(coverage.integer_macs, coverage.macs);
    }
  }
}

// A published model that another tool quantized. Compares the answers on all images.
TEST_F(MicrosoftOperators, OfAShufflenetGiveTheSameAnswers) {
  const fs::path model = fs::path(kSharedData) / "models/wild/shufflenet_v2_12_int8.onnx";
  const fs::path folder_of_images = fs::path(kSharedData) / "images/photos/eval";
  if (!fs::exists(model)) GTEST_SKIP() << absent(model);
  const Executor executor(prepare(load_onnx(model)));
  const auto plan = executor.compile({});
  const Preprocess preprocess = preprocess_from_json(
      R"({"resize": {"mode": "squash", "width": 224, "height": 224}, "channels": "rgb",)"
      R"("layout": "nchw", "mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]})");
  const ImageSet images = list_images(folder_of_images, {}, 1000);
  const Shape& one = plan->inputs()[0].shape;
  const auto count = std::ssize(images.entries);
  Tensor all(DType::kFloat32, {count, one[1], one[2], one[3]});
  std::vector<BadImage> bad;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto image = load_preprocessed(images.entries[static_cast<std::size_t>(i)], preprocess,
                                         BadImages::kFail, bad);
    std::memcpy(all.data() + i * image->bytes(), image->data(),
                static_cast<std::size_t>(image->bytes()));
  }
  const TemporaryFolder folder;
  const OtherRun other = run_other(model, {{plan->inputs()[0].name, all, one}}, folder.path);
  if (other.outputs.empty()) return;
  const std::size_t classes = other.outputs[0].size() / static_cast<std::size_t>(count);
  Workspace workspace;
  std::int64_t same = 0;
  double worst = 1e9;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Tensor input(DType::kFloat32, one);
    std::memcpy(input.data(), all.data() + i * input.bytes(),
                static_cast<std::size_t>(input.bytes()));
    const TensorView view = input;
    const auto ours = plan->run({&view, 1}, workspace)[0].values<float>();
    const auto theirs = std::span<const float>(other.outputs[0])
                            .subspan(static_cast<std::size_t>(i) * classes, classes);
    ASSERT_EQ(ours.size(), classes);
    same += std::ranges::max_element(ours) - ours.begin() ==
                    std::ranges::max_element(theirs) - theirs.begin()
                ? 1
                : 0;
    const double db = std::min(sqnr_db_of(theirs, ours), 200.0);
    worst = std::min(worst, db);
    sum += db;
  }
  const Coverage coverage = coverage_of(*plan);
  std::printf(
      "shufflenet: same answer on %lld of %lld images, SQNR mean %.1f dB, worst %.1f dB, "
      "%lld of %lld MACs on integers\n",
      static_cast<long long>(same), static_cast<long long>(count), sum / static_cast<double>(count),
      worst, static_cast<long long>(coverage.integer_macs), static_cast<long long>(coverage.macs));
  EXPECT_EQ(coverage.integer_macs, coverage.macs);
  if (!other_is_exact()) GTEST_SKIP() << "without VNNI ONNX Runtime's products may saturate";
  EXPECT_GE(static_cast<double>(same), 0.995 * static_cast<double>(count));
}

}  // namespace
}  // namespace qtool
