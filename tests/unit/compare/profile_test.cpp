#include "qtool/compare/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Two convolutions over any number of images of 2 x 4 x 4.
Graph two_convolutions() {
  Net net;
  const ValueId x = net.graph.add_value("x");
  net.graph.declare(x, DType::kFloat32, std::vector<Dim>{{{}, "N"}, {2, ""}, {4, ""}, {4, ""}});
  net.graph.add_input(x);
  net.output(net.conv("c2", net.op("Relu", "r1", {net.conv("c1", "x")})));
  return std::move(net.graph);
}

Graph int8_of(const Graph& graph) {
  CalibrationTable table;
  table.model_fingerprint = fingerprint(graph);
  table.method = "minmax";
  for (const char* name : {"x", "r1_out"}) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {0.0F, 2.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    table.activations.push_back(std::move(entry));
  }
  return quantize(graph, table).graph;
}

Graph without_names(Graph graph) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (const NodeId id : nodes) {
    Node node = graph.node(id);
    node.name.clear();
    graph.remove_node(id);
    graph.add_node(std::move(node));  // added at the end, so all nodes keep their order
  }
  return graph;
}

ProfileOptions repeated(std::int64_t repeat) {
  ProfileOptions options;
  options.threads = 1;
  options.repeat = repeat;
  return options;
}

Tensor images(std::int64_t count = 1) { return Tensor(DType::kFloat32, {count, 2, 4, 4}); }

/// Checks that a profile has the steps of the plan that the executor makes for `shape`, in order.
void expect_profile_of(const Executor& executor, const Shape& shape, const PlanProfile& profile) {
  CompileOptions options;
  options.threads = 1;
  const auto plan = executor.compile({{"x", shape}}, options);
  ASSERT_GT(plan->steps().size(), 0U);
  ASSERT_EQ(profile.steps.size(), plan->steps().size());
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const StepInfo& expected = plan->steps()[i];
    const StepInfo& step = profile.steps[i].step;
    if (!expected.node.empty()) {
      EXPECT_EQ(step.node, expected.node);
    }
    EXPECT_EQ(step.op_type, expected.op_type);
    EXPECT_EQ(step.kernel, expected.kernel);
    EXPECT_EQ(step.output, expected.output);
    EXPECT_EQ(step.macs, expected.macs);
    EXPECT_EQ(step.integer, expected.integer);
    EXPECT_GE(profile.steps[i].low_seconds, 0.0);
    EXPECT_LE(profile.steps[i].low_seconds, profile.steps[i].seconds);
    EXPECT_LE(profile.steps[i].seconds, profile.steps[i].high_seconds);
  }
  EXPECT_EQ(profile.arena_bytes, plan->arena_bytes());
  EXPECT_GE(profile.fastest_seconds, 0.0);
  EXPECT_LE(profile.fastest_seconds, profile.low_seconds);
  EXPECT_LE(profile.low_seconds, profile.median_seconds);
  EXPECT_LE(profile.median_seconds, profile.high_seconds);
}

/// The error's message. Fails when there is none or it has another code.
std::string profile_refusal(ErrorCode code, const Executor& fp32, const Executor* int8,
                            const Tensor& input, const ProfileOptions& options) {
  try {
    static_cast<void>(profile(fp32, int8, input, options));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Profile, HasOneEntryForEachStepOfTheOnlyModel) {
  const Executor fp32(two_convolutions());
  const ProfileResult result = profile(fp32, nullptr, images(), repeated(4));
  EXPECT_EQ(result.threads, 1);
  EXPECT_EQ(result.repeat, 4);
  EXPECT_EQ(result.batch, 1);
  EXPECT_FALSE(result.int8.has_value());
  expect_profile_of(fp32, {1, 2, 4, 4}, result.fp32);
  std::vector<std::pair<std::string, std::int64_t>> products;
  for (const StepTime& time : result.fp32.steps) {
    if (time.step.macs > 0) products.emplace_back(time.step.node, time.step.macs);
  }
  // Each layer multiplies 2 inputs for 2 outputs at 4 x 4 positions.
  EXPECT_THAT(products, ElementsAre(std::pair("c1", 64), std::pair("c2", 64)));
}

TEST(Profile, MeasuresBothModels) {
  const Graph graph = two_convolutions();
  const Executor fp32(graph);
  const Executor int8(int8_of(graph));
  const ProfileResult result = profile(fp32, &int8, images(3), repeated(3));
  EXPECT_EQ(result.batch, 3);
  expect_profile_of(fp32, {3, 2, 4, 4}, result.fp32);
  ASSERT_TRUE(result.int8.has_value());
  expect_profile_of(int8, {3, 2, 4, 4}, *result.int8);
  std::vector<std::string> integer;
  for (const StepTime& time : result.int8->steps) {
    if (time.step.macs > 0 && time.step.integer) integer.push_back(time.step.node);
  }
  EXPECT_THAT(integer, ElementsAre("c1", "c2"));
  EXPECT_THAT(result.fp32.crossings, testing::IsEmpty());
  ASSERT_EQ(result.int8->crossings.size(), 1U);
  EXPECT_EQ(result.int8->crossings[0].from, "x");
  EXPECT_THAT(result.int8->crossings[0].to, ElementsAre("c1"));
}

// A tensor that a step reads twice counts once.
TEST(Profile, CountsTheBytesThatAStepReadsAndWrites) {
  Net net;
  const std::string x = net.input("x", {2, 3, 4});
  const std::string sum = net.op("Add", "twice", {x, x});
  net.output(net.op("Transpose", "turn", {sum}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}}));
  const Executor fp32(net.graph);
  const ProfileResult result =
      profile(fp32, nullptr, Tensor(DType::kFloat32, {2, 3, 4}), repeated(1));
  ASSERT_EQ(result.fp32.steps.size(), 2U);
  for (const StepTime& time : result.fp32.steps) {
    EXPECT_EQ(time.bytes, 2 * 24 * 4) << time.step.node;
  }
}

TEST(Profile, KnowsThePeakOfTheMachine) {
  const MachinePeak peak = machine_peak(1);
  EXPECT_GT(peak.fp32_macs_per_second, 1e7);
  EXPECT_GT(peak.int8_macs_per_second, 1e7);
  EXPECT_GT(peak.copied_bytes_per_second, 1e7);
  // The peak is measured only once; a second measurement would give other numbers.
  EXPECT_EQ(machine_peak(1).fp32_macs_per_second, peak.fp32_macs_per_second);
}

// Some exporters leave nodes without names. The times of these nodes must not be lost, and must not
// be taken for the times of one node.
TEST(Profile, CallsNodesWithoutNamesAsTheirOutputs) {
  const Executor fp32(without_names(two_convolutions()));
  const Executor integers(without_names(int8_of(two_convolutions())));
  const ProfileResult result = profile(fp32, &integers, images(), repeated(2));
  for (const PlanProfile* one : {&result.fp32, &*result.int8}) {
    std::vector<std::string> products;
    for (const StepTime& time : one->steps) {
      EXPECT_NE(time.step.node, "") << time.step.op_type;
      if (time.step.macs > 0) products.push_back(time.step.node);
    }
    EXPECT_THAT(products, ElementsAre("c1_out", "c2_out"));
  }
}

TEST(Profile, SaysHowManyThreadsItUsed) {
  const Executor fp32(two_convolutions());
  ProfileOptions options = repeated(1);
  options.threads = 2;
  EXPECT_EQ(profile(fp32, nullptr, images(), options).threads, 2);
  options.threads = 0;
  EXPECT_EQ(profile(fp32, nullptr, images(), options).threads, available_threads());
}

TEST(Profile, CountsTimedRunsAsProgressAndAsksWhileWarmingUp) {
  const Executor fp32(two_convolutions());
  std::vector<std::pair<std::int64_t, std::int64_t>> calls;
  ProfileOptions options = repeated(3);
  options.progress = [&](std::int64_t done, std::int64_t total) {
    calls.emplace_back(done, total);
    return ProgressAnswer::kContinue;
  };
  // A second model does not count twice.
  static_cast<void>(profile(fp32, &fp32, images(), options));
  const std::pair<std::int64_t, std::int64_t> warming_up(0, 3);
  EXPECT_THAT(calls, ElementsAre(warming_up, warming_up, warming_up, std::pair(1, 3),
                                 std::pair(2, 3), std::pair(3, 3)));
}

TEST(Profile, StopsWhenProgressSaysSo) {
  const Executor fp32(two_convolutions());
  std::int64_t last = 0;
  ProfileOptions options = repeated(1000);
  options.progress = [&](std::int64_t done, std::int64_t) {
    last = done;
    return done == 2 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  EXPECT_THAT(profile_refusal(ErrorCode::kCancelled, fp32, nullptr, images(), options),
              HasSubstr("stopped after 2 of 1000 runs"));
  EXPECT_EQ(last, 2);
}

TEST(Profile, RefusesOptionsThatMakeNoSense) {
  const Executor fp32(two_convolutions());
  EXPECT_THAT(profile_refusal(ErrorCode::kUsage, fp32, nullptr, images(), repeated(0)),
              HasSubstr("repeat: found 0, expected 1 or more"));
  EXPECT_THAT(profile_refusal(ErrorCode::kUsage, fp32, nullptr, images(), repeated(-5)),
              HasSubstr("found -5"));
  ProfileOptions options = repeated(1);
  options.threads = -1;
  EXPECT_THAT(profile_refusal(ErrorCode::kUsage, fp32, nullptr, images(), options),
              HasSubstr("-1"));
}

TEST(Profile, RefusesAnInputOfAnotherShapeOrType) {
  const Executor fp32(two_convolutions());
  EXPECT_THAT(profile_refusal(ErrorCode::kMismatch, fp32, nullptr,
                              Tensor(DType::kFloat32, {1, 2, 4, 5}), repeated(1)),
              AllOf(HasSubstr("'x'"), HasSubstr("[1, 2, 4, 5]")));
  EXPECT_THAT(profile_refusal(ErrorCode::kMismatch, fp32, nullptr,
                              Tensor(DType::kUInt8, {1, 2, 4, 4}), repeated(1)),
              AllOf(HasSubstr("'x'"), HasSubstr("uint8")));
}

TEST(Profile, RefusesAModelWithTwoInputs) {
  Net net;
  net.output(net.op("Add", "add", {net.input("a", {1, 2}), net.input("b", {1, 2})}));
  const Executor two_inputs(net.graph);
  EXPECT_THAT(profile_refusal(ErrorCode::kUnsupported, two_inputs, nullptr,
                              Tensor(DType::kFloat32, {1, 2}), repeated(1)),
              AllOf(HasSubstr("2 inputs"), HasSubstr("'a', 'b'")));
}

TEST(Profile, RefusesModelsThatDoNotBelongTogether) {
  const Executor fp32(two_convolutions());
  Net net;
  const std::string x = net.input("x", {1, 2, 4, 4});
  net.output(net.op("GlobalAveragePool", "pool", {x}));
  const Executor other(net.graph);
  EXPECT_THAT(profile_refusal(ErrorCode::kMismatch, fp32, &other, images(), repeated(1)),
              AllOf(HasSubstr("[1, 2, 4, 4]"), HasSubstr("[1, 2, 1, 1]")));
  net.output(net.op("Relu", "relu", {x}));
  const Executor more(net.graph);
  EXPECT_THAT(profile_refusal(ErrorCode::kMismatch, fp32, &more, images(), repeated(1)),
              HasSubstr("the FP32 model has 1 outputs, the INT8 model 2"));
}

}  // namespace
}  // namespace qtool
