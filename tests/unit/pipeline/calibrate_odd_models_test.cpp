// Models in which tensors change their kind once shapes are known, such as activations that become
// constants. A model that runs must also calibrate, quantize, and run again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "calib/statistics.h"
#include "compare/metrics.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/parse_onnx.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

constexpr std::int64_t kOddSide = 6;

class OddNet : public Net {
 public:
  OddNet() {
    input("image", {1, 3, kOddSide, kOddSide});
    graph.declare(id("image"), DType::kFloat32,
                  std::vector<Dim>{{{}, "N"}, {3, {}}, {{}, "H"}, {{}, "W"}});
  }
  /// A tensor [1, 3, 1, 1] that is `share` times the height of `of`.
  std::string from_height(const std::string& of) {
    constant("axis_h", Tensor::of<std::int64_t>({1}, {2}));
    constant("share", Tensor::of<float>({1, 3, 1, 1}, {-0.1F, 0.05F, 0.2F}));
    const std::string height =
        op("Cast", "to_float", {op("Gather", "height", {op("Shape", "shape", {of}), "axis_h"})},
           {{"to", std::int64_t{1}}});
    return op("Mul", "known_later", {"share", height});
  }
};

class OddModels : public testing::Test {
 protected:
  OddModels() {
    fs::create_directories(root_);
    std::mt19937 random(5);
    for (int image = 0; image < 4; ++image) {
      std::string bytes = to_text("P6\n", kOddSide, " ", kOddSide, "\n255\n");
      for (std::int64_t i = 0; i < kOddSide * kOddSide * 3; ++i) {
        bytes.push_back(static_cast<char>(random() % 256));
      }
      write_file(root_ / to_text(image, ".ppm"), bytes);
    }
  }
  ~OddModels() override { fs::remove_all(root_); }

  static std::vector<float> run(const Executor& executor, const Tensor& image) {
    Workspace workspace;
    const std::vector<TensorView> inputs{image};
    const auto plan = executor.compile({{"image", image.shape()}});
    const auto values = plan->run(inputs, workspace)[0].values<float>();
    return {values.begin(), values.end()};
  }

  /// Calibrates, quantizes and infers. Returns the names of the tensors in the table.
  [[nodiscard]] std::vector<std::string> go_all_the_way(const Graph& graph) const {
    const Graph prepared = prepare(graph);
    const Executor fp32(prepared);
    const ImageSet images = list_images(root_, {}, 0);
    CalibrateOptions options;
    options.collect.tensors =
        tensors_to_calibrate(prepared, find_target(kDefaultTarget), std::vector<std::string>{});
    options.collect.preprocess.mean = {127.5F};
    options.collect.preprocess.std = {64.0F};
    options.collect.threads = 2;
    options.types.weight_pairs = WeightPairs::kFree;  // no plan for choosing them
    const CalibrationResult calibrated = calibrate(fp32, images, options);
    EXPECT_EQ(fp32.counts().compiled, 1);  // once for both workers
    const Quantized emitted = quantize(prepared, calibrated.table);
    const Graph& integer = emitted.graph;
    const Executor int8(prepare(integer));
    Tensor image(DType::kFloat32, {1, 3, kOddSide, kOddSide});
    std::mt19937 random(7);
    std::uniform_real_distribution<float> real(-2.0F, 2.0F);
    for (float& value : image.values<float>()) value = real(random);
    EXPECT_GT(sqnr_db(run(fp32, image), run(int8, image)), 25.0);
    static_cast<void>(layer_names(prepared));
    std::vector<std::string> names;
    for (const auto& entry : calibrated.table.activations) names.push_back(entry.tensor);
    return names;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / to_text("qtool_odd_", ::getpid());
};

TEST_F(OddModels, ATensorThatIsAConstantOnceShapesAreKnown) {
  OddNet net;
  const std::string sum =
      net.op("Add", "sum", {net.conv("first", "image", 3), net.from_height("image")});
  net.output(net.conv("last", sum, 3));
  const std::vector<std::string> names = go_all_the_way(net.graph);
  EXPECT_NE(std::find(names.begin(), names.end(), "known_later_out"), names.end());
}

TEST_F(OddModels, TensorsThatOnlyTheirShapeIsReadOf) {
  OddNet net;
  const std::string unread = net.conv("unread", net.conv("before", "image", 3), 3);
  net.output(net.op("Add", "sum", {net.conv("first", "image", 3), net.from_height(unread)}));
  const std::vector<std::string> names = go_all_the_way(net.graph);
  EXPECT_NE(std::find(names.begin(), names.end(), "before_out"), names.end());
}

// A convolution in a function, one in the branch of an If, and one in a Loop that runs twice.
std::string controlled_net(const std::string& side) {
  return to_text(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
main (float[1, 3, )",
                 side, ", ", side, R"(] image) => (float[1, 3, A, B] y)
<float[3, 3, 1, 1] w = {0.5, -0.25, 0.1, 0.3, 0.7, -0.6, -0.2, 0.4, 0.9}> {
  a = local.Block (image, w)
  s = Shape (image)
  i = Constant <value = int64 {3}> ()
  width = Gather (s, i)
  two = Constant <value = int64 {2}> ()
  wide = Greater (width, two)
  b = If (wide) <
    then_branch = then () => (float[1, 3, A, B] t) { t = Conv (a, w) },
    else_branch = other () => (float[1, 3, A, B] e) { e = Neg (a) }
  >
  y = Loop (two, , b) <
    body = body (int64 n, bool ci, float[1, 3, A, B] p) => (bool co, float[1, 3, A, B] q) {
      c = Conv (p, w)
      q = Relu (c)
      co = Identity (ci)
    }
  >
}
<domain: "local", opset_import: ["" : 17]>
Block (x, k) => (y) { c = Conv (x, k)  y = Relu (c) })");
}

TEST_F(OddModels, ConvolutionsWithinControlFlowThatIsDecided) {
  const std::vector<std::string> names = go_all_the_way(load_text(controlled_net("6")));
  // The inputs of the convolutions.
  for (const char* name : {"image", "a", "b", "y/0/state"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST_F(OddModels, ControlFlowThatTheShapesOfARunDecide) {
  const Graph graph = load_text(controlled_net("N"));
  const std::vector<std::string> names = go_all_the_way(graph);
  EXPECT_NE(std::find(names.begin(), names.end(), "a"), names.end());
}

// The outputs of nodes that qtool does not run cannot be compared, so the inputs of these nodes are
// compared.
TEST_F(OddModels, ASelectionOfBoxesAtTheEnd) {
  const Graph graph = load_text(R"(<ir_version: 8, opset_import: ["" : 17, "TRT" : 1]>
main (float[1, 3, 6, 6] image) => (float[1, N, 4] found, float[1, M, 4] others)
<float[6, 3, 1, 1] w = {0.5, -0.2, 0.1, 0.3, 0.7, -0.6, -0.2, 0.4, 0.9,
                        0.2, 0.1, -0.3, 0.6, 0.5, 0.4, -0.1, 0.8, -0.7},
 int64[3] rows = {1, 6, 36}, int64[2] parts = {4, 2}, int64[1] most = {5}, int64 two = {2}> {
  c = Conv (image, w)
  flat = Reshape (c, rows)
  across, score = Split <axis = 1> (flat, parts)
  boxes = Transpose <perm = [0, 2, 1]> (across)
  scores = Sigmoid (score)
  chosen = NonMaxSuppression (boxes, scores, most)
  index = Gather <axis = 1> (chosen, two)
  found = Gather <axis = 1> (boxes, index)
  others = TRT.Choose (boxes, scores)
})");
  EXPECT_FALSE(go_all_the_way(graph).empty());
  const Graph prepared = prepare(graph);
  CalibrateOptions options;
  options.collect.tensors =
      tensors_to_calibrate(prepared, find_target(kDefaultTarget), std::vector<std::string>{});
  options.collect.preprocess.mean = {127.5F};
  options.collect.preprocess.std = {64.0F};
  const Executor fp32(prepared);
  const Graph emitted =
      quantize(prepared, calibrate(fp32, list_images(root_, {}, 0), options).table).graph;
  const Graph again = prepare(load_onnx_bytes(save_onnx_bytes(emitted), "", "again"));
  EXPECT_EQ(again.value(again.outputs()[0]).name, "found");
  EXPECT_EQ(again.value(again.outputs()[1]).name, "others");
  const auto names = [](const Executor& executor) {
    std::vector<std::string> found;
    for (const PortInfo& port : executor.compile({})->outputs()) found.push_back(port.name);
    return found;
  };
  EXPECT_EQ(names(fp32), (std::vector<std::string>{"boxes", "scores"}));
  EXPECT_EQ(names(Executor(again)), names(fp32));
}

// With even kernels and few pixels, oneDNN's sums depend on the number of threads if several
// threads share one image.
TEST_F(OddModels, TablesDoNotDependOnThreads) {
  OddNet net;
  Tensor w(DType::kFloat32, {23, 3, 2, 2});
  std::mt19937 random(9);
  std::uniform_real_distribution<float> real(-1.0F, 1.0F);
  for (float& value : w.values<float>()) value = real(random);
  net.constant("w", std::move(w));
  net.output(net.op(
      "Relu", "relu",
      {net.op("Conv", "conv", {"image", "w"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}})}));
  const Executor executor(net.graph);
  CalibrateOptions options;
  options.collect.tensors = {"image", "conv_out", "relu_out"};
  options.collect.preprocess.mean = {127.5F};
  options.collect.preprocess.std = {64.0F};
  const auto table = [&](int threads) {
    options.collect.threads = threads;
    return write_table(calibrate(executor, list_images(root_, {}, 0), options).table);
  };
  const std::string one = table(1);
  EXPECT_EQ(table(2), one);
  EXPECT_EQ(table(3), one);
}

TEST(NodeName, IsItsOwnOrThatOfTheFirstOutputThatIsThere) {
  Graph graph;
  const auto add = [&](const std::string& name, std::vector<ValueId> outputs) {
    Node node;
    node.name = name;
    node.outputs = std::move(outputs);
    return graph.add_node(std::move(node));
  };
  EXPECT_EQ(name_of(graph, add("own", {kNoValue, graph.add_value("a")})), "own");
  EXPECT_EQ(name_of(graph, add("", {kNoValue, graph.add_value("b")})), "b");
  EXPECT_EQ(name_of(graph, add("", {kNoValue})), "");
  EXPECT_EQ(name_of(graph, add("", {})), "");
}

TEST_F(OddModels, AreObservedAsTheyRun) {
  OddNet net;
  const std::string later = net.from_height("image");
  const std::string dead = net.op("Neg", "dead", {"image"});
  net.output(net.op("Add", "sum", {"image", later}));
  const Executor executor(net.graph);
  const auto plan = executor.compile({{"image", Shape{1, 3, kOddSide, kOddSide}}},
                                     {.observe = {dead, later, later, "image"}});
  EXPECT_EQ(plan->outputs().size(), 1U);
  ASSERT_EQ(plan->observed().size(), 4U);
  EXPECT_EQ(plan->observed()[1].shape, (Shape{1, 3, 1, 1}));
  Tensor image(DType::kFloat32, {1, 3, kOddSide, kOddSide});
  for (float& value : image.values<float>()) value = 2.0F;
  Workspace workspace;
  const std::vector<TensorView> inputs{image};
  std::vector<int> seen(4, 0);
  static_cast<void>(plan->run(inputs, workspace, [&](std::size_t i, const TensorView& tensor) {
    ++seen[i];
    if (i == 0) {
      EXPECT_EQ(tensor.values<float>()[5], -2.0F);
    }
    if (i == 1) {
      EXPECT_EQ(tensor.values<float>()[2], 0.2F * kOddSide);
    }
  }));
  EXPECT_EQ(seen, (std::vector<int>{1, 1, 1, 1}));
}

TEST(Calibrate, SaysThatAModelIsQuantizedAlready) {
  Net net;
  net.constant("s", Tensor::scalar(0.1F));
  net.output(net.op("QuantizeLinear", "quantize", {net.input("x", {1, 4}), "s"}));
  const Executor executor(prepare(net.graph));
  try {
    const Calibration calibration(executor, {});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "node 'quantize' (QuantizeLinear): the model is quantized already");
  }
}

}  // namespace
}  // namespace qtool
