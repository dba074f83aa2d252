// Tests which layers --faster-only leaves in FP32. The times come from a rule and not from a clock.
#include "search/faster_only.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/crossings.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// c1 to c6, one after the other, each with a Relu.
Graph six_convolutions() {
  Net net;
  const ValueId x = net.graph.add_value("x");
  net.graph.declare(x, DType::kFloat32, std::vector<Dim>{{1, ""}, {2, ""}, {4, ""}, {4, ""}});
  net.graph.add_input(x);
  std::string last = "x";
  for (int i = 1; i <= 6; ++i) {
    const std::string number = std::to_string(i);
    last = net.op("Relu", "r" + number, {net.conv("c" + number, last)});
  }
  net.output(last);
  return std::move(net.graph);
}

StaticInputs inputs_of(const Graph& graph) {
  StaticInputs base;
  base.table.model_fingerprint = fingerprint(graph);
  base.table.method = "minmax";
  for (const char* name : {"x", "r1_out", "r2_out", "r3_out", "r4_out", "r5_out", "r6_out"}) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {0.0F, 2.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    base.table.activations.push_back(std::move(entry));
  }
  return base;
}

/// The seconds of a step. On integers, the convolutions in `slow` take 10 and all others 2. In FP32
/// each convolution takes 5. A conversion takes `crossing`.
struct Rule {
  std::set<std::string> slow;
  double crossing = 1.0;
  double noise = 0.0;  ///< added to the runs of the two models in turn

  [[nodiscard]] double of(const StepInfo& step) const {
    if (step.op_type == "QuantizeLinear" || step.op_type == "DequantizeLinear") return crossing;
    if (step.macs == 0) return 0.0;
    if (!step.integer) return 5.0;
    return slow.contains(step.node) ? 10.0 : 2.0;
  }
  [[nodiscard]] PlanTimer timer() const {
    PlanTimer timer;
    timer.steps = [*this](std::span<const Plan* const> plans) {
      std::vector<std::vector<double>> seconds;
      for (const Plan* plan : plans) {
        std::vector<double>& steps = seconds.emplace_back();
        for (const StepInfo& step : plan->steps()) steps.push_back(of(step));
      }
      return seconds;
    };
    timer.runs = [*this](std::span<const Plan* const> plans) {
      std::vector<std::vector<double>> seconds;
      for (std::size_t p = 0; p < plans.size(); ++p) {
        double total = 0.0;
        for (const StepInfo& step : plans[p]->steps()) total += of(step);
        std::vector<double>& runs = seconds.emplace_back();
        for (std::size_t run = 0; run < 31; ++run) {
          runs.push_back(total + ((run + p) % 2 == 0 ? noise : 0.0));
        }
      }
      return seconds;
    };
    return timer;
  }
};

FasterResult choose(const Rule& rule) {
  const Executor fp32(six_convolutions());
  const Shape shape{1, 2, 4, 4};
  return faster_only(fp32, inputs_of(fp32.graph()), {&shape, 1}, {}, rule.timer());
}

/// The convolutions among the excluded nodes.
std::vector<std::string> convolutions(const FasterResult& result) {
  std::vector<std::string> names;
  for (const std::string& name : result.exclude) {
    if (name.starts_with('c')) names.push_back(name);
  }
  return names;
}

TEST(FasterOnly, LeavesAllOnIntegersWhereTheseAreFaster) {
  const FasterResult result = choose({});
  EXPECT_THAT(result.exclude, IsEmpty());
  EXPECT_EQ(result.tried, 0);
  EXPECT_FALSE(result.fp32_alone);
  EXPECT_DOUBLE_EQ(result.fp32_seconds, 30.0);
  EXPECT_DOUBLE_EQ(result.mixed_seconds, result.int8_seconds);
  EXPECT_EQ(result.gained.median, 0.0);
}

TEST(FasterOnly, LeavesASlowLayerInFp32) {
  const FasterResult result = choose({.slow = {"c3"}});
  EXPECT_THAT(convolutions(result), ElementsAre("c3"));
  EXPECT_LT(result.gained.high, 0.0);
  EXPECT_DOUBLE_EQ(result.gained.median, result.mixed_seconds - result.int8_seconds);
}

TEST(FasterOnly, CountsTheConversionsAroundALoneLayer) {
  // FP32 gains 5, and the conversions to FP32 and back cost 5.8.
  EXPECT_THAT(choose({.slow = {"c3"}, .crossing = 2.9}).exclude, IsEmpty());
}

TEST(FasterOnly, TakesNeighboursTogetherThatDoNotPayAlone) {
  EXPECT_THAT(convolutions(choose({.slow = {"c3", "c4"}, .crossing = 2.9})),
              ElementsAre("c3", "c4"));
}

TEST(FasterOnly, ClosesTheGapBetweenTwoIslands) {
  // c4 in FP32 costs 3 more than on integers, and saves two conversions of 1.9.
  EXPECT_THAT(convolutions(choose({.slow = {"c2", "c3", "c5"}, .crossing = 1.9})),
              ElementsAre("c2", "c3", "c4", "c5"));
}

TEST(FasterOnly, TakesSeveralIslands) {
  EXPECT_THAT(convolutions(choose({.slow = {"c2", "c5"}})), ElementsAre("c2", "c5"));
}

TEST(FasterOnly, ChangesNothingThatTimingCannotTellApart) {
  const FasterResult result = choose({.slow = {"c3"}, .noise = 100.0});
  EXPECT_THAT(result.exclude, IsEmpty());
  EXPECT_GT(result.tried, 0);
}

TEST(FasterOnly, SaysWhereFp32AloneIsFastest) {
  const FasterResult result =
      choose({.slow = {"c1", "c2", "c3", "c4", "c5", "c6"}, .crossing = 1.0});
  EXPECT_TRUE(result.fp32_alone);
  EXPECT_THAT(convolutions(result), ElementsAre("c1", "c2", "c3", "c4", "c5", "c6"));
}

TEST(FasterOnly, NeedsSomethingOnIntegers) {
  const Executor fp32(six_convolutions());
  const Shape shape{1, 2, 4, 4};
  StaticInputs base = inputs_of(fp32.graph());
  base.options.exclude = {"*"};
  try {
    static_cast<void>(faster_only(fp32, base, {&shape, 1}, {}, Rule().timer()));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

TEST(FasterOnly, RunsByTheClock) {
  const Executor fp32(six_convolutions());
  const Tensor image(DType::kFloat32, {1, 2, 4, 4});
  std::int64_t calls = 0;
  FasterOptions options;
  options.threads = 1;
  options.repeat = 15;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_LE(done, total);
    ++calls;
    return ProgressAnswer::kContinue;
  };
  const FasterResult result = faster_only(fp32, inputs_of(fp32.graph()), {&image, 1}, options);
  EXPECT_EQ(result.repeat, 15);
  EXPECT_GT(result.int8_seconds, 0.0);
  EXPECT_GT(calls, 0);
}

TEST(Crossings, NameTheNodesBetweenWhichTheyStand) {
  const Graph graph = six_convolutions();
  StaticInputs base = inputs_of(graph);
  base.options.exclude = {"c3", "r3"};
  const Executor int8(quantize(graph, base).graph);
  const auto plan = int8.compile({{"x", Shape{1, 2, 4, 4}}});
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const Crossing& crossing : crossings_of(plan->steps(), int8.graph())) {
    found.emplace_back(crossing.from, crossing.to);
  }
  EXPECT_THAT(found, ElementsAre(std::pair("x", std::vector<std::string>{"c1"}),
                                 std::pair("r2", std::vector<std::string>{"c3"}),
                                 std::pair("r3", std::vector<std::string>{"c4"})));
}

}  // namespace
}  // namespace qtool
