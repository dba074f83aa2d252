#include "exec/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "exec/memory_plan.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

// Two convolutions, a residual sum, a pool, a product: every kind of FP32 step.
Net small_network() {
  Net net;
  const ValueId x = net.graph.add_value("x");
  net.graph.declare(x, DType::kFloat32, std::vector<Dim>{{{}, "N"}, {3, ""}, {8, ""}, {6, ""}});
  net.graph.add_input(x);
  net.constant("w1", random_floats({4, 3, 3, 3}, 1));
  net.constant("w2", random_floats({4, 4, 1, 1}, 2));
  net.constant("w3", random_floats({5, 4}, 3));
  net.constant("b3", random_floats({5}, 4));
  const std::vector<std::int64_t> pads{1, 1, 1, 1};
  const auto a = net.op("Relu", "r1", {net.op("Conv", "c1", {"x", "w1"}, {{"pads", pads}})});
  const auto b = net.op("Conv", "c2", {a, "w2"});
  const auto sum = net.op("Relu", "r2", {net.op("Add", "add", {a, b})});
  const auto flat = net.op("Flatten", "flat", {net.op("GlobalAveragePool", "gap", {sum})});
  net.output(net.op("Gemm", "fc", {flat, "w3", "b3"}, {{"transB", std::int64_t{1}}}));
  return net;
}

std::vector<float> run_plan(const Plan& plan, const Tensor& input) {
  Workspace workspace;
  const std::vector<TensorView> inputs{input};
  const auto values = plan.run(inputs, workspace)[0].values<float>();
  return {values.begin(), values.end()};
}

TEST(AssignOffsets, NeverLetsLivingStoragesOverlap) {
  std::mt19937 random(99);
  for (int round = 0; round < 200; ++round) {
    std::vector<Storage> storages(40);
    for (Storage& s : storages) {
      s.bytes = static_cast<std::int64_t>(random() % 5000);
      s.first_step = static_cast<std::int32_t>(random() % 50);
      s.last_step = s.first_step + static_cast<std::int32_t>(random() % 10);
    }
    const std::int64_t total = assign_offsets(storages);
    for (std::size_t i = 0; i < storages.size(); ++i) {
      const Storage& a = storages[i];
      ASSERT_EQ(a.offset % 64, 0);
      ASSERT_LE(a.offset + a.bytes, total);
      for (std::size_t j = 0; j < i; ++j) {
        const Storage& b = storages[j];
        const bool meet = a.first_step <= b.last_step && b.first_step <= a.last_step;
        const bool overlap =
            a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes && a.bytes * b.bytes > 0;
        ASSERT_FALSE(meet && overlap) << "round " << round;
      }
    }
  }
}

TEST(Executor, FusesActivationsAndResidualsWithoutChangingTheResult) {
  const Net net = small_network();
  const Executor executor(net.graph);
  const auto fused = executor.compile({});
  const auto plain = executor.compile({}, {.lowering = Lowering::kReference});
  EXPECT_LT(fused->steps().size(), plain->steps().size());
  const Tensor x = random_floats({1, 3, 8, 6}, 7);
  const std::vector<float> a = run_plan(*fused, x);
  const std::vector<float> b = run_plan(*plain, x);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4F);
}

TEST(Executor, FusesTheActivationOfASumWhoseOperandsAreObserved) {
  const Net net = small_network();
  const Executor executor(net.graph);
  const auto fused = executor.compile({}, {.observe = {"c2_out"}});
  const auto step = std::find_if(fused->steps().begin(), fused->steps().end(),
                                 [](const StepInfo& info) { return info.node == "add"; });
  ASSERT_NE(step, fused->steps().end());
  EXPECT_EQ(step->op_type, "Add");
  EXPECT_EQ(step->output, "r2_out");
  // The sum is observed too, so the activation is not fused and keeps a step of its own.
  const auto apart = executor.compile({}, {.observe = {"c2_out", "add_out"}});
  EXPECT_EQ(apart->steps().size(), fused->steps().size() + 1);
  const Tensor x = random_floats({1, 3, 8, 6}, 7);
  EXPECT_EQ(run_plan(*fused, x), run_plan(*apart, x));
}

// A missing bound is ONNX's limit for floats, which may lie beyond an infinite one. oneDNN's clip
// would refuse such bounds.
TEST(Executor, RunsAClipBetweenAnInfinityAndAMissingBound) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t port : {std::size_t{1}, std::size_t{2}}) {
    const float bound = port == 1 ? kInfinity : -kInfinity;
    Net net;
    net.input("x", {1, 2, 4, 4});
    net.constant("w", random_floats({3, 2, 1, 1}, 5));
    Tensor limit(DType::kFloat32, {});
    limit.values<float>()[0] = bound;
    net.constant("limit", std::move(limit));
    const auto product = net.op("Conv", "conv", {"x", "w"});
    net.output(port == 1 ? net.op("Clip", "clip", {product, "limit"})
                         : net.op("Clip", "clip", {product, "", "limit"}));
    const Executor executor(net.graph);
    const std::vector<float> y = run_plan(*executor.compile({}), random_floats({1, 2, 4, 4}, 6));
    // The upper bound wins: min(max(x, low), high).
    const float expected = port == 1 ? std::numeric_limits<float>::max() : bound;
    EXPECT_THAT(y, testing::Each(expected)) << port;
  }
}

TEST(Executor, FusesAClipIntoABroadcastSum) {
  Net net;
  net.input("x", {1, 2, 2});
  Tensor addend(DType::kFloat32, {2, 1});
  addend.values<float>()[0] = 1.0F;
  addend.values<float>()[1] = std::numeric_limits<float>::infinity();
  net.constant("c", std::move(addend));
  Tensor high(DType::kFloat32, {});
  high.values<float>()[0] = 3.0F;
  net.constant("high", std::move(high));
  net.output(net.op("Clip", "clip", {net.op("Add", "add", {"x", "c"}), "", "high"}));
  Tensor x(DType::kFloat32, {1, 2, 2});
  const std::vector<float> values{-5.0F, 9.0F, 0.0F, std::numeric_limits<float>::quiet_NaN()};
  std::copy(values.begin(), values.end(), x.values<float>().begin());
  const Executor executor(net.graph);
  const auto fused = executor.compile({});
  EXPECT_EQ(fused->steps().size(), 1U);
  const std::vector<float> y = run_plan(*fused, x);
  EXPECT_EQ(y[0], -4.0F);
  EXPECT_EQ(y[1], 3.0F);
  EXPECT_EQ(y[2], 3.0F);
  EXPECT_TRUE(std::isnan(y[3]));
}

// For another number of images, oneDNN may choose another FP32 kernel, which adds in another order.
TEST(Executor, GivesTheSameForAnyThreadsAndBatch) {
  constexpr float kMaxDifference = 1e-5F;  // as a share of the largest magnitude
  const Net net = small_network();
  const Executor executor(net.graph);
  const auto one = executor.compile({}, {.threads = 1});
  const auto two = executor.compile({}, {.threads = 2});
  const auto batched = executor.compile({{"x", Shape{3, 3, 8, 6}}}, {.threads = 2});
  const Tensor images = random_floats({3, 3, 8, 6}, 8);
  const std::vector<float> all = run_plan(*batched, images);
  for (std::size_t n = 0; n < 3; ++n) {
    Tensor image(DType::kFloat32, {1, 3, 8, 6});
    std::memcpy(image.data(), images.data() + n * static_cast<std::size_t>(image.bytes()),
                static_cast<std::size_t>(image.bytes()));
    const std::vector<float> single = run_plan(*one, image);
    const std::vector<float> divided = run_plan(*two, image);
    ASSERT_EQ(single.size(), 5U);
    float largest = 0.0F;
    for (const float value : single) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < single.size(); ++i) {
      EXPECT_NEAR(single[i], divided[i], kMaxDifference * largest);
      EXPECT_NEAR(single[i], all[n * 5 + i], kMaxDifference * largest);
    }
  }
}

TEST(Executor, SharesOnePlanBetweenWorkers) {
  const Net net = small_network();
  const Executor executor(net.graph);
  const auto plan = executor.compile({});
  const Tensor x = random_floats({1, 3, 8, 6}, 9);
  const std::vector<float> expected = run_plan(*plan, x);
  std::vector<std::vector<float>> results(16);
  parallel_items(16, 4, [&](std::int64_t i, int) {
    results[static_cast<std::size_t>(i)] = run_plan(*plan, x);
  });
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST(Executor, ShowsObservedTensorsInOrderAndWhole) {
  const Net net = small_network();
  const Executor executor(net.graph);
  // Observes tensors before and after fusions, the input, and a tensor that shares the memory of
  // another tensor.
  const auto plan = executor.compile({}, {.observe = {"flat_out", "c1_out", "x", "r2_out"}});
  ASSERT_EQ(plan->observed().size(), 4U);
  EXPECT_EQ(plan->observed()[1].shape, (Shape{1, 4, 8, 6}));
  const Tensor x = random_floats({1, 3, 8, 6}, 10);
  const std::vector<TensorView> inputs{x};
  Workspace workspace;
  std::vector<std::size_t> seen;
  std::vector<float> flat;
  float lowest_r2 = 1.0F;
  const auto outputs = plan->run(inputs, workspace, [&](std::size_t i, const TensorView& tensor) {
    seen.push_back(i);
    const auto values = tensor.values<float>();
    if (i == 0) flat.assign(values.begin(), values.end());
    if (i == 3) lowest_r2 = *std::min_element(values.begin(), values.end());
  });
  EXPECT_EQ(seen, (std::vector<std::size_t>{2, 1, 3, 0}));
  EXPECT_GE(lowest_r2, 0.0F);
  EXPECT_EQ(flat.size(), 4U);
  const auto unobserved = run_plan(*executor.compile({}), x);
  for (std::size_t i = 0; i < unobserved.size(); ++i) {
    EXPECT_NEAR(outputs[0].values<float>()[i], unobserved[i], 1e-4F);
  }
}

TEST(Executor, NamesWhatIsWrong) {
  const Net net = small_network();
  const Executor executor(net.graph);
  EXPECT_THROW(executor.compile({{"y", Shape{1}}}), Error);
  EXPECT_THROW(executor.compile({{"x", Shape{1, 3, 9, 6}}}), Error);
  EXPECT_THROW(executor.compile({}, {.observe = {"nothing"}}), Error);
  EXPECT_THROW(executor.compile({}, {.threads = -1}), Error);
  const Tensor wrong = random_floats({1, 3, 6, 8}, 1);
  const std::vector<TensorView> inputs{wrong};
  Workspace workspace;
  EXPECT_THROW(static_cast<void>(executor.compile({})->run(inputs, workspace)), Error);

  Net huge;
  huge.input("x", {1, 1, 1 << 20, 1 << 20});  // 4 TiB
  huge.output(huge.op("Sigmoid", "soft", {"x"}));
  try {
    static_cast<void>(Executor(huge.graph).compile({}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the activations need 4398046511104 bytes"),
              std::string::npos)
        << error.what();
  }

  Net unknown;
  unknown.input("x", {1});
  unknown.output(unknown.op("Frobnicate", "odd", {"x"}));
  unknown.output(unknown.op("Twirl", "twirled", {"x"}));
  unknown.output(unknown.op("Frobnicate", "odder", {"x"}));
  try {
    const Executor refused(unknown.graph);
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("opset 17: Frobnicate (2 nodes, the first is 'odd'), Twirl (1 node "
                           "'twirled')"),
              std::string::npos)
        << message;
  }
}

TEST(Executor, RefusesATensorBeyondTheMemoryBeforeItMakesTheOperator) {
  Net net;
  net.constant("scales", Tensor::of<float>({4}, {1.0F, 1.0F, 1.0F, 2.5e11F}));
  net.output(net.op("Resize", "wide", {net.input("x", {1, 1, 1, 1}), "", "scales"},
                    {{"mode", std::string("nearest")}}));
  try {
    static_cast<void>(Executor(net.graph).compile({}));
    FAIL() << "a terabyte was planned";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("bytes, this machine has"));
  }
}

TEST(Executor, AdaptsAWorkspaceToThePlanItIsUsedWith) {
  const Net net = small_network();
  const Executor executor(net.graph);
  const auto small = executor.compile({});
  const auto large = executor.compile({{"x", Shape{4, 3, 8, 6}}});
  const Tensor one = random_floats({1, 3, 8, 6}, 3);
  const Tensor four = random_floats({4, 3, 8, 6}, 3);
  Workspace workspace;
  const std::vector<TensorView> first{one};
  const std::vector<TensorView> second{four};
  const float before = small->run(first, workspace)[0].values<float>()[0];
  static_cast<void>(large->run(second, workspace));
  EXPECT_EQ(small->run(first, workspace)[0].values<float>()[0], before);
}

}  // namespace
}  // namespace qtool
