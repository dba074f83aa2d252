// ONNX Runtime runs recurrent layers that we quantized, in all forms. It must read them and compute
// our numbers, except where it rounds differently.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kSteps = 9;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kInputs = 24;
constexpr std::int64_t kHidden = 20;

Net network(const std::string& op_type, const std::string& direction) {
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const std::int64_t rows = (op_type == "LSTM" ? 4 : op_type == "GRU" ? 3 : 1) * kHidden;
  Net net;
  net.input("x", {kSteps, kBatch, kInputs});
  net.constant("w", random_floats({directions, rows, kInputs}, 1, -0.5F, 0.5F));
  net.constant("r", random_floats({directions, rows, kHidden}, 2, -0.3F, 0.3F));
  net.constant("b", random_floats({directions, 2 * rows}, 3, -0.3F, 0.3F));
  net.output(net.op(op_type, "layer", {"x", "w", "r", "b"},
                    {{"hidden_size", kHidden}, {"direction", direction}}));
  return net;
}

Graph in_static_mode(const Net& net) {
  CalibrationTable table;
  for (const std::string& tensor : tensors_to_calibrate(net.graph, find_target("cpu"))) {
    ActivationEntry& entry = table.activations.emplace_back();
    entry.tensor = tensor;
    entry.range = {-1.0F, 1.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
  }
  return quantize(net.graph, table, StaticOptions()).graph;
}

Graph in_dynamic_mode(const Net& net, DynamicLstm lstm) {
  DynamicOptions options;
  options.lstm = lstm;
  return quantize(net.graph, options).graph;
}

// Compares our numbers with the numbers of ONNX Runtime, by their SQNR.
void compare_recurrent(const std::string& name, const Graph& graph, double least_db) {
  SCOPED_TRACE(name);
  const TemporaryFolder folder;
  const auto saved = folder.path / "model.onnx";
  save_onnx(graph, saved);
  const Executor executor(prepare(load_onnx(saved)));
  const auto plan = executor.compile({});
  const Tensor x = random_floats({kSteps, kBatch, kInputs}, 7);
  const OtherRun other = run_other(saved, {{"x", x}}, folder.path);
  ASSERT_FALSE(other.outputs.empty());
  const TensorView view = x;
  Workspace workspace;
  const auto ours = plan->run({&view, 1}, workspace)[0].values<float>();
  ASSERT_EQ(ours.size(), other.outputs[0].size());
  double signal = 0.0;
  double noise = 1e-30;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    signal += std::pow(double{other.outputs[0][i]}, 2);
    noise += std::pow(double{ours[i]} - double{other.outputs[0][i]}, 2);
  }
  const double found = 10.0 * std::log10(signal / noise);
  std::printf("%s: %.1f dB, expected %.1f\n", name.c_str(), found, least_db);
  EXPECT_GE(found, least_db);
  EXPECT_TRUE(std::ranges::any_of(
      plan->steps(), [](const StepInfo& step) { return step.node == "layer" && step.integer; }));
}

// ONNX Runtime keeps the hidden state in FP32 in the standard forms (ours has 16 bits), and rounds
// it to 8 bits in its own operator.
TEST(RecurrentInterop, QuantizedLayersGiveTheNumbersOfOnnxRuntime) {
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  for (const char* op_type : {"LSTM", "GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      const Net net = network(op_type, direction);
      const std::string name = std::string(op_type) + " " + direction;
      compare_recurrent(name + ", static", in_static_mode(net), 70.0);
      compare_recurrent(name + ", dynamic", in_dynamic_mode(net, DynamicLstm::kStandard), 70.0);
    }
  }
}

TEST(RecurrentInterop, DynamicQuantizeLstmGivesTheNumbersOfOnnxRuntime) {
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  if (!other_is_exact()) GTEST_SKIP() << "without VNNI ONNX Runtime's products may saturate";
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    compare_recurrent(direction,
                      in_dynamic_mode(network("LSTM", direction), DynamicLstm::kMicrosoft), 40.0);
  }
}

}  // namespace
}  // namespace qtool
