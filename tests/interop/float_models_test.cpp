// Compares FP32 results with ONNX Runtime: of operators with many attributes, and of published
// networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "interop/other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "support/absent.h"
#include "support/control_flow_models.h"
#include "support/parse_onnx.h"
#include "support/places.h"
#include "support/quantize_in.h"
#include "support/random_floats.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;
using Attributes = Node::AttributeMap;

// The largest difference divided by the largest magnitude.
double relative_error(std::span<const float> found, std::span<const float> expected) {
  double largest = 1e-30;
  double error = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    error = std::max(error, std::abs(double{found[i]} - double{expected[i]}));
  }
  return error / largest;
}

constexpr double kTolerance = 1e-4;

// Runs ONNX Runtime on the inputs of a plan.
OtherRun run_other_on(const fs::path& model, const Plan& plan, std::span<const Tensor> inputs,
                      const fs::path& folder) {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    named.push_back({plan.inputs()[i].name, inputs[i]});
  }
  return run_other(model, named, folder);
}

// Runs the plan and, in ONNX Runtime, the saved model on the same inputs. Compares the outputs.
void expect_equal(const fs::path& model, const Plan& plan, std::span<const Tensor> inputs,
                  const fs::path& folder, double tolerance = kTolerance) {
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  Workspace workspace;
  const auto outputs = plan.run(views, workspace);
  const OtherRun other = run_other_on(model, plan, inputs, folder);
  ASSERT_EQ(outputs.size(), other.outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto found = outputs[o].values<float>();
    ASSERT_EQ(found.size(), other.outputs[o].size()) << "output " << o;
    EXPECT_LE(relative_error(found, other.outputs[o]), tolerance) << "output " << o;
  }
}

// A model of one node: its first input is computed, the others are constants.
struct OneOperator {
  std::string name;
  std::string op_type;
  Shape x;
  std::vector<std::shared_ptr<const Tensor>> constants;  // null: left out
  Attributes attributes;
  std::int64_t outputs = 1;
};

Graph graph_of(const OneOperator& one) {
  Graph graph;
  graph.info.opsets[""] = 14;
  const ValueId x = graph.add_value("x");
  std::vector<Dim> dims;
  for (const std::int64_t dim : one.x.dims()) dims.push_back({dim, {}});
  graph.declare(x, DType::kFloat32, dims);
  graph.add_input(x);
  Node node;
  node.name = "node";
  node.op_type = one.op_type;
  node.inputs.push_back(x);
  for (const auto& tensor : one.constants) {
    node.inputs.push_back(
        tensor == nullptr ? kNoValue
                          : graph.add_constant("c" + std::to_string(node.inputs.size()), tensor));
  }
  node.attributes = one.attributes;
  for (std::int64_t i = 0; i < one.outputs; ++i) {
    node.outputs.push_back(graph.add_value("y" + std::to_string(i)));
  }
  const std::vector<ValueId> results = node.outputs;
  graph.add_node(std::move(node));
  for (const ValueId result : results) {
    graph.declare(result, DType::kFloat32, std::nullopt);
    graph.add_output(result);
  }
  return graph;
}

std::shared_ptr<const Tensor> shared_floats(Shape shape, unsigned seed) {
  return std::make_shared<const Tensor>(random_floats(std::move(shape), seed));
}

OneOperator recurrent(std::string name, const std::string& op_type, std::int64_t gates,
                      const Attributes& attributes, bool lengths = false, bool initial = true,
                      bool peepholes = false) {
  constexpr std::int64_t kHidden = 10;
  const auto direction = attributes.find("direction");
  const bool both =
      direction != attributes.end() && std::get<std::string>(direction->second) == "bidirectional";
  const std::int64_t d = both ? 2 : 1;
  const bool lstm = op_type == "LSTM";
  OneOperator one{std::move(name), op_type, {7, 4, 6}, {}, attributes, lstm ? 3 : 2};
  one.attributes["hidden_size"] = kHidden;
  one.constants = {shared_floats({d, gates * kHidden, 6}, 2),
                   shared_floats({d, gates * kHidden, kHidden}, 3),
                   shared_floats({d, 2 * gates * kHidden}, 4)};
  one.constants.push_back(
      lengths ? std::make_shared<const Tensor>(Tensor::of<std::int32_t>({4}, {7, 3, 0, 5}))
              : nullptr);
  one.constants.push_back(initial ? shared_floats({d, 4, kHidden}, 5) : nullptr);
  if (lstm) one.constants.push_back(initial ? shared_floats({d, 4, kHidden}, 6) : nullptr);
  if (lstm) one.constants.push_back(peepholes ? shared_floats({d, 3 * kHidden}, 7) : nullptr);
  return one;
}

OneOperator upsampling(std::string name, Shape x, Shape w, const Attributes& attributes,
                       std::int64_t groups = 1) {
  OneOperator one{std::move(name), "ConvTranspose", std::move(x), {}, attributes, 1};
  const std::int64_t channels = w[1] * groups;
  if (groups != 1) one.attributes["group"] = groups;
  one.constants = {shared_floats(std::move(w), 2), shared_floats({channels}, 3)};
  return one;
}

std::vector<OneOperator> operators() {
  const Attributes none;
  const Attributes both = {{"direction", std::string("bidirectional")}};
  std::vector<OneOperator> all;
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    const std::string name = op;
    all.push_back(recurrent(name + "Plain", op, gates, none, false, false));
    all.push_back(recurrent(name + "Reverse", op, gates, {{"direction", std::string("reverse")}}));
    all.push_back(recurrent(name + "Bidirectional", op, gates, both));
    all.push_back(recurrent(name + "Lengths", op, gates, both, true));
    all.push_back(recurrent(name + "LengthsWithoutState", op, gates, both, true, false));
    all.push_back(recurrent(name + "Clip", op, gates, {{"clip", 0.4F}}));
  }
  all.push_back(recurrent("LSTMPeepholes", "LSTM", 4, both, false, true, true));
  all.push_back(recurrent("LSTMCoupled", "LSTM", 4, {{"input_forget", std::int64_t{1}}}));
  all.push_back(recurrent("LSTMActivations", "LSTM", 4,
                          {{"activations", Strings{"HardSigmoid", "ScaledTanh", "Affine"}},
                           {"activation_alpha", std::vector<float>{0.3F, 0.8F, 0.5F}},
                           {"activation_beta", std::vector<float>{0.4F, 0.9F, 0.1F}}}));
  all.push_back(recurrent("LSTMDefaultsOfActivations", "LSTM", 4,
                          {{"activations", Strings{"HardSigmoid", "Elu", "Softsign"}}}));
  all.push_back(recurrent("GRULinear", "GRU", 3, {{"linear_before_reset", std::int64_t{1}}}));
  all.push_back(recurrent(
      "GRULinearLengths", "GRU", 3,
      {{"linear_before_reset", std::int64_t{1}}, {"direction", std::string("bidirectional")}},
      true));
  all.push_back(recurrent("GRULinearClip", "GRU", 3,
                          {{"linear_before_reset", std::int64_t{1}}, {"clip", 0.4F}}));
  all.push_back(recurrent("RNNRelu", "RNN", 1, {{"activations", Strings{"Relu"}}}));
  all.push_back(upsampling("ConvTransposeOfRows", {2, 3, 9}, {3, 4, 4},
                           {{"strides", Ints{3}}, {"output_padding", Ints{1}}}));
  all.push_back(upsampling("ConvTransposeGroups", {1, 6, 5, 6}, {6, 3, 3, 3},
                           {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 1}}}, 2));
  all.push_back(upsampling("ConvTransposeDilations", {1, 3, 5, 6}, {3, 4, 3, 2},
                           {{"strides", Ints{1, 2}}, {"dilations", Ints{2, 3}}}));
  all.push_back(upsampling("ConvTransposeOutputShape", {1, 3, 5, 6}, {3, 4, 3, 3},
                           {{"strides", Ints{2, 2}}, {"output_shape", Ints{8, 12}}}));
  all.push_back(upsampling("ConvTransposeOutputShapeUpper", {1, 3, 5, 6}, {3, 4, 3, 3},
                           {{"strides", Ints{2, 2}},
                            {"output_shape", Ints{8, 12}},
                            {"auto_pad", std::string("SAME_UPPER")}}));
  all.push_back(upsampling("ConvTransposeSameUpper", {1, 3, 5, 6}, {3, 4, 4, 3},
                           {{"strides", Ints{2, 3}}, {"auto_pad", std::string("SAME_UPPER")}}));
  all.push_back(upsampling("ConvTransposeSameLower", {1, 3, 5, 6}, {3, 4, 5, 3},
                           {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}));
  all.push_back(upsampling("ConvTransposeOfVolumes", {1, 3, 3, 4, 5}, {3, 2, 2, 3, 2},
                           {{"strides", Ints{2, 1, 2}}, {"pads", Ints{0, 1, 0, 1, 1, 0}}}));
  return all;
}

class OperatorsOnOnnxRuntime : public testing::TestWithParam<OneOperator> {};

TEST_P(OperatorsOnOnnxRuntime, GiveTheSame) {
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  const TemporaryFolder folder;
  const fs::path saved = folder.path / "model.onnx";
  save_onnx(graph_of(GetParam()), saved);
  const auto plan = Executor(prepare(load_onnx(saved))).compile({});
  const Tensor input = random_floats(GetParam().x, 1);
  expect_equal(saved, *plan, std::span(&input, 1), folder.path, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Float, OperatorsOnOnnxRuntime, testing::ValuesIn(operators()),
                         [](const auto& test) { return test.param.name; });

// Models with functions, and with subgraphs that the model, the shapes or the data select.
class ControlFlowOnOnnxRuntime : public testing::TestWithParam<TextModel> {};

TEST_P(ControlFlowOnOnnxRuntime, GivesTheSameAsLoadedAndAsSaved) {
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  const TemporaryFolder folder;
  const fs::path given = folder.path / "given.onnx";
  const fs::path saved = folder.path / "saved.onnx";
  write_file(given, parse_onnx(GetParam().text).SerializeAsString());
  const Graph prepared = prepare(load_onnx(given));
  save_onnx(prepared, saved);
  const auto plan = Executor(prepared).compile({});
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Tensor input = random_floats({3, 4}, seed);
    expect_equal(given, *plan, std::span(&input, 1), folder.path, 1e-6);
    expect_equal(saved, *plan, std::span(&input, 1), folder.path, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Float, ControlFlowOnOnnxRuntime, testing::ValuesIn(control_flow_models()),
                         [](const auto& test) { return test.param.name; });

// A published network, with images of the kind that it is made for.
struct Published {
  std::string name;
  fs::path model;
  fs::path images;         ///< empty: its inputs are random
  std::string preprocess;  ///< JSON
  double least_db;         ///< SQNR of its first output in INT8 against FP32
  std::size_t image = 0;   ///< the index of the image that is compared
  /// The tolerance with stored int8 weights. ONNX Runtime then turns a MatMul into a MatMulNBits,
  /// which rounds its input.
  double stored_tolerance = kTolerance;
};

std::ostream& operator<<(std::ostream& out, const Published& model) { return out << model.name; }

std::vector<Published> published() {
  const fs::path models = fs::path(kSharedData) / "models";
  const fs::path images = fs::path(kSharedData) / "images";
  const auto squash = [](int width, int height) {
    return R"({"resize": {"mode": "squash", "width": )" + std::to_string(width) +
           R"(, "height": )" + std::to_string(height) + "},";
  };
  const std::string imagenet =
      R"("channels": "bgr", "mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]})";
  return {
      {"ppocr_det", models / "wild/ppocr_v2_det_ch.onnx", images / "street",
       squash(320, 320) + imagenet, 3.0, 1},  // the others show no text: outputs are below 4e-4
      {"ppocr_rec", models / "wild/ppocr_v2_rec_en.onnx", images / "street",
       squash(320, 32) + R"("channels": "bgr", "mean": [127.5], "std": [127.5]})", 3.0, 0, 2e-2},
      {"yolox_nano", models / "wild/yolox_nano_416.onnx", images / "street",
       squash(416, 416) + R"("channels": "bgr"})", 3.0},
      {"blazeface", models / "wild/blazeface_back_256.onnx", images / "faces",
       squash(256, 256) + R"("layout": "nhwc", "mean": [127.5], "std": [127.5]})", 3.0},
      {"silero_vad", models / "silero_vad_16k_lstm.onnx", {}, {}, 0.0},
  };
}

class PublishedOnOnnxRuntime : public testing::TestWithParam<Published> {
 protected:
  void SetUp() override {
    if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
    if (!fs::exists(GetParam().model)) GTEST_SKIP() << absent(GetParam().model);
  }

  static ImageSet images() { return list_images(GetParam().images, {}, 4); }
  static Tensor load_input(std::size_t image) {
    std::vector<BadImage> bad;
    return *load_preprocessed(images().entries[image], preprocess_from_json(GetParam().preprocess),
                              BadImages::kFail, bad);
  }
  // The inputs of the network. Their shapes are the shapes that its plan is compiled for.
  static std::vector<Tensor> inputs_of(const Executor& executor) {
    std::vector<Tensor> inputs;
    if (!GetParam().images.empty()) {
      inputs.push_back(load_input(GetParam().image));
      return inputs;
    }
    for (const PortInfo& port : executor.compile({})->inputs()) {
      inputs.push_back(random_floats(port.shape, 1, -0.5F, 0.5F));
    }
    return inputs;
  }
  static InputShapes shapes_of(const Executor& executor, std::span<const Tensor> inputs) {
    InputShapes shapes;
    const Graph& graph = executor.graph();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      shapes.emplace(graph.value(graph.inputs()[i]).name, inputs[i].shape());
    }
    return shapes;
  }
};

TEST_P(PublishedOnOnnxRuntime, GivesTheSameInFloat) {
  const Executor executor(prepare(load_onnx(GetParam().model)));
  const std::vector<Tensor> inputs = inputs_of(executor);
  const auto plan = executor.compile(shapes_of(executor, inputs));
  expect_equal(GetParam().model, *plan, inputs, TemporaryFolder().path);
}

TEST_P(PublishedOnOnnxRuntime, GivesTheSameWithStoredWeights) {
  const TemporaryFolder folder;
  const fs::path saved = folder.path / "model.onnx";
  save_onnx(quantize_in(QuantizeMode::kWeightOnly, prepare(load_onnx(GetParam().model))).graph,
            saved);
  EXPECT_LT(fs::file_size(saved), fs::file_size(GetParam().model));
  const Executor executor(prepare(load_onnx(saved)));
  const std::vector<Tensor> inputs = inputs_of(executor);
  const auto plan = executor.compile(shapes_of(executor, inputs));
  expect_equal(saved, *plan, inputs, folder.path, GetParam().stored_tolerance);
}

double sqnr_db(std::span<const float> reference, std::span<const float> other) {
  double signal = 1e-30;
  double noise = 1e-30;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    signal += double{reference[i]} * reference[i];
    noise += (double{reference[i]} - other[i]) * (double{reference[i]} - other[i]);
  }
  return 10.0 * std::log10(signal / noise);
}

// The network is calibrated and quantized for both targets. ONNX Runtime must compute the same
// results as our executor from the quantized model.
TEST_P(PublishedOnOnnxRuntime, CalibratesAndQuantizes) {
  if (GetParam().images.empty()) GTEST_SKIP() << GetParam().name << " takes no images";
  const Graph graph = prepare(load_onnx(GetParam().model));
  const Executor real(graph);
  const std::vector<Tensor> inputs = inputs_of(real);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  Workspace workspace;
  Workspace real_workspace;
  const auto expected = real.compile(shapes_of(real, inputs))->run(views, real_workspace);
  const TemporaryFolder folder;
  for (const std::string_view target : {"cpu", "qtool"}) {
    CalibrateOptions calibration;
    calibration.target = target;
    calibration.collect.preprocess = preprocess_from_json(GetParam().preprocess);
    StaticOptions options;
    options.target = target;
    const Quantized quantized =
        quantize(graph, calibrate(real, images(), calibration).table, options);
    const fs::path saved = folder.path / (std::string(target) + ".onnx");
    save_onnx(quantized.graph, saved);
    const Executor executor(prepare(load_onnx(saved)));
    const auto plan = executor.compile(shapes_of(executor, inputs));
    const auto outputs = plan->run(views, workspace);
    const OtherRun other = run_other_on(saved, *plan, inputs, folder.path);
    ASSERT_EQ(other.outputs.size(), outputs.size());
    const auto found = outputs[0].values<float>();
    const double db = sqnr_db(expected[0].values<float>(), found);
    const double other_db = sqnr_db(expected[0].values<float>(), other.outputs[0]);
    std::printf("%s for %s: %s; against FP32 %.1f dB, ONNX Runtime %.1f dB, difference %.1f dB\n",
                GetParam().name.c_str(), std::string(target).c_str(),
                coverage_line(coverage_of(*plan), quantized.report).c_str(), db, other_db,
                sqnr_db(found, other.outputs[0]));
    EXPECT_GE(db, GetParam().least_db);
    if (other_is_exact()) {
      EXPECT_GE(other_db, GetParam().least_db);
    }
    // Results next to a tie may round to the other side in ONNX Runtime, because its sums of two
    // tensors round their floats at other points. Later layers propagate the difference. It must
    // stay well below the noise of quantization. A curve errs by 0.04 of a step at most, so more
    // results are on another side of a tie.
    if (!other_is_exact()) continue;
    const bool has_curves = quantized.report.inner_functions > 0;
    EXPECT_GE(sqnr_db(found, other.outputs[0]), db + (has_curves ? 4.0 : 6.0));
    // Such ties are rare, so an image without any must give the same. This does not apply where
    // ONNX Runtime computes sums or functions in FP32.
    if (has_curves || quantized.report.residuals + quantized.report.functions > 0) continue;
    double best = sqnr_db(found, other.outputs[0]);
    for (std::size_t image = 0; best < 45.0 && image < images().entries.size(); ++image) {
      const Tensor input = load_input(image);
      const auto ours = plan->run(std::array<TensorView, 1>{input}, workspace);
      const OtherRun theirs = run_other_on(saved, *plan, {&input, 1}, folder.path);
      best = std::max(best, sqnr_db(ours[0].values<float>(), theirs.outputs[0]));
    }
    EXPECT_GE(best, 45.0) << "no image gives the same";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedOnOnnxRuntime, testing::ValuesIn(published()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qtool
