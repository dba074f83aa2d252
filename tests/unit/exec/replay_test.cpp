#include "exec/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

constexpr std::int64_t kReplayedSide = 4;

/// A network with branches that meet again, so no tensor affects all steps after it.
Graph branches() {
  Net net;
  net.input("x", {1, 2, kReplayedSide, kReplayedSide});
  net.op("Relu", "relu", {net.conv("c1", "x")});
  net.op("MaxPool", "pool", {"relu_out"},
         {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
          {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  net.conv("c2", "pool_out");
  net.op("Add", "sum", {"c2_out", "relu_out"});
  net.output(net.op("Concat", "both", {"sum_out", "c1_out"}, {{"axis", std::int64_t{1}}}));
  net.output(net.op("Flatten", "flat", {"pool_out"}));
  return std::move(net.graph);
}

Tensor replay_input(float first) {
  Tensor x(DType::kFloat32, {1, 2, kReplayedSide, kReplayedSide});
  float next = first;
  for (float& value : x.values<float>()) value = next += 0.125F;
  return x;
}

std::shared_ptr<const Plan> plan_of(const Graph& graph, const std::vector<std::string>& observe) {
  CompileOptions options;
  options.observe = observe;
  options.threads = 1;
  options.keep = true;
  return Executor(graph).compile({{"x", Shape{1, 2, kReplayedSide, kReplayedSide}}}, options);
}

using ReplayedOutputs = std::vector<std::vector<float>>;

ReplayedOutputs replayed_values(std::span<const TensorView> views) {
  ReplayedOutputs outputs;
  for (const TensorView& view : views) {
    const std::span<const float> values = view.values<float>();
    outputs.emplace_back(values.begin(), values.end());
  }
  return outputs;
}

ReplayedOutputs run_once(const Graph& graph, const Tensor& x) {
  const auto plan = plan_of(graph, {});
  Workspace workspace;
  const std::array<TensorView, 1> inputs{TensorView(x)};
  return replayed_values(plan->run(inputs, workspace));
}

/// The network changed so that all readers of `tensor` read twice its value.
Graph doubled(Graph graph, const std::string& tensor) {
  const ValueId from = graph.find_value(tensor).value();
  const ValueId two = graph.add_constant("two", Tensor::scalar(2.0F));
  const ValueId to = graph.add_value("doubled");
  graph.replace_uses(from, to);
  Node node;
  node.op_type = "Mul";
  node.inputs = {from, two};
  node.outputs = {to};
  graph.add_node(std::move(node), graph.nodes().front());
  graph.sort();
  return graph;
}

void twice(const TensorView& original, std::byte* out) {
  const std::span<const float> values = original.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) reinterpret_cast<float*>(out)[i] = 2 * values[i];
}

const std::vector<std::string> kTensors = {"pool_out", "x", "sum_out", "relu_out", "c1_out"};

TEST(Replay, EqualsANetworkInWhichOneTensorIsChanged) {
  const Graph graph = branches();
  Replay replay(plan_of(graph, kTensors), nullptr);
  for (const float first : {-2.0F, 1.0F}) {
    const Tensor x = replay_input(first);
    const std::array<TensorView, 1> inputs{TensorView(x)};
    EXPECT_EQ(replayed_values(replay.run(inputs)), run_once(graph, x));
    for (std::size_t i = 0; i < kTensors.size(); ++i) {
      EXPECT_EQ(replayed_values(replay.run_changed(i, twice)),
                run_once(doubled(graph, kTensors[i]), x))
          << kTensors[i];
    }
  }
}

TEST(Replay, LeavesNoTraceOfAChange) {
  const Graph graph = branches();
  Replay replay(plan_of(graph, kTensors), nullptr);
  const Tensor x = replay_input(-1.0F);
  const std::array<TensorView, 1> inputs{TensorView(x)};
  const ReplayedOutputs clean = replayed_values(replay.run(inputs));
  const auto same = [](const TensorView& original, std::byte* out) {
    const std::span<const float> values = original.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) reinterpret_cast<float*>(out)[i] = values[i];
  };
  for (std::size_t i = 0; i < kTensors.size(); ++i) {
    replay.run_changed(i, twice);
    EXPECT_EQ(replayed_values(replay.run_changed(kTensors.size() - 1 - i, same)), clean);
  }
}

TEST(Replay, TakesOneStepFromANetworkWithOtherWeights) {
  const Graph graph = branches();
  Graph all = graph;
  Graph one = graph;
  for (const char* name : {"c1_w", "c2_w", "c2_b"}) {
    const ValueId id = graph.find_value(name).value();
    Tensor changed = graph.value(id).constant->clone();
    for (float& value : changed.values<float>()) value = 0.5F - value;
    const auto shared = std::make_shared<const Tensor>(std::move(changed));
    all.set_constant(id, shared);
    if (std::string(name).starts_with("c2")) one.set_constant(id, shared);
  }
  const auto plan = plan_of(graph, kTensors);
  std::optional<std::size_t> step;
  for (std::size_t i = 0; i < plan->steps().size(); ++i) {
    if (plan->steps()[i].node == "c2") step = i;
  }
  ASSERT_TRUE(step.has_value());
  Replay replay(plan, plan_of(all, kTensors));
  const Tensor x = replay_input(-1.0F);
  const std::array<TensorView, 1> inputs{TensorView(x)};
  const ReplayedOutputs clean = replayed_values(replay.run(inputs));
  const ReplayedOutputs changed = replayed_values(replay.run_variant(*step));
  EXPECT_NE(changed, clean);
  // Fusion depends on the observed tensors, so the reference observes the same tensors.
  const auto reference = plan_of(one, kTensors);
  Workspace workspace;
  EXPECT_EQ(changed, replayed_values(reference->run(inputs, workspace)));
  EXPECT_EQ(replayed_values(replay.run_variant(*step)), changed);
}

TEST(Replay, RefusesPlansOfOtherSteps) {
  Net net;
  net.input("x", {1, 2, kReplayedSide, kReplayedSide});
  net.output(net.conv("c1", "x"));
  const auto small = plan_of(net.graph, {});
  const auto large = plan_of(branches(), {});
  EXPECT_THROW(Replay(small, large), Error);
}

}  // namespace
}  // namespace qtool
