// Tests the objects that an executor shares: packed weights and plans.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "ops/integer/pack_cache.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

class SharingNet : public Net {
 public:
  // x -> Quantize -> Dequantize at a fixed scale.
  std::string qdq(const std::string& real, float scale = 0.02F) {
    const std::string s = constant(real + "_s", Tensor::scalar<float>(scale));
    const std::string z = constant(real + "_z", Tensor::scalar<std::uint8_t>(128));
    return op("DequantizeLinear", real + "_dq",
              {op("QuantizeLinear", real + "_q", {real, s, z}), s, z});
  }
  // x [1, 4, H, W] with open H and W.
  void open_input() {
    input("x", {1, 4, 1, 1});
    graph.declare(id("x"), DType::kFloat32,
                  std::vector<Dim>{{1, ""}, {4, ""}, {{}, "H"}, {{}, "W"}});
  }
  // Weights that become constant once the shapes are known: `base` times the height of x divided by
  // 16.
  std::string folded(const std::string& base, DType dtype = DType::kFloat32) {
    constant("axis_h", Tensor::of<std::int64_t>({1}, {2}));
    constant("sixteenth", Tensor::scalar<float>(1.0F / 16));
    const std::string height =
        op("Cast", "to_float", {op("Gather", "height", {op("Shape", "shape", {"x"}), "axis_h"})},
           {{"to", std::int64_t{1}}});
    const std::string real = op("Mul", "scaled", {op("Mul", "ratio", {height, "sixteenth"}), base});
    if (dtype == DType::kFloat32) return real;
    constant("w_s", Tensor::scalar<float>(0.01F));
    constant("w_z", Tensor::scalar<std::int8_t>(0));
    return op("QuantizeLinear", "w_q", {real, "w_s", "w_z"});
  }
};

std::vector<float> run_packed(const Plan& plan, const Tensor& x) {
  Workspace workspace;
  const std::vector<TensorView> inputs{x};
  std::vector<float> all;
  for (const TensorView& output : plan.run(inputs, workspace)) {
    if (output.dtype == DType::kInt32) {
      for (const std::int32_t value : output.values<std::int32_t>()) {
        all.push_back(static_cast<float>(value));
      }
      continue;
    }
    all.insert(all.end(), output.values<float>().begin(), output.values<float>().end());
  }
  return all;
}

TEST(PackedWeights, AreApartForGemmsThatReadOneConstantBothWays) {
  SharingNet net;
  net.input("x", {2, 5});
  net.constant("w", random_floats({5, 5}, 1));
  net.output(net.op("Gemm", "straight", {"x", "w"}));
  net.output(net.op("Gemm", "turned", {"x", "w"}, {{"transB", std::int64_t{1}}}));
  net.output(net.op("MatMul", "product", {"x", "w"}));
  const Executor executor(net.graph);
  const Tensor x = random_floats({2, 5}, 2);
  const std::vector<float> found = run_packed(*executor.compile({}), x);
  const auto w = net.graph.value(net.id("w")).constant->values<float>();
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t column = 0; column < 5; ++column) {
      float straight = 0.0F;
      float turned = 0.0F;
      for (std::size_t k = 0; k < 5; ++k) {
        straight += x.values<float>()[row * 5 + k] * w[k * 5 + column];
        turned += x.values<float>()[row * 5 + k] * w[column * 5 + k];
      }
      EXPECT_NEAR(found[row * 5 + column], straight, 1e-5F);
      EXPECT_NEAR(found[10 + row * 5 + column], turned, 1e-5F);
      EXPECT_NEAR(found[20 + row * 5 + column], straight, 1e-5F);
    }
  }
  EXPECT_EQ(executor.counts().packs, 2);  // the first Gemm and the MatMul share one
}

TEST(PackedWeights, AreApartForIntegerGemmsThatReadOneConstantBothWays) {
  SharingNet net;
  net.input("x", {2, 5});
  Tensor w(DType::kInt8, {5, 5});
  for (std::size_t i = 0; i < 25; ++i) {
    w.values<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 201) - 100);
  }
  net.constant("w_q", std::move(w));
  net.constant("w_s", Tensor::scalar<float>(0.01F));
  net.constant("w_z", Tensor::scalar<std::int8_t>(0));
  const std::string real = net.op("DequantizeLinear", "w", {"w_q", "w_s", "w_z"});
  const std::string x_dq = net.qdq("x");
  net.output(net.qdq(net.op("Gemm", "straight", {x_dq, real}), 0.05F));
  net.output(net.qdq(net.op("Gemm", "turned", {x_dq, real}, {{"transB", std::int64_t{1}}}), 0.05F));
  const Executor executor(net.graph);
  const auto plan = executor.compile({});
  std::size_t integer = 0;
  for (const StepInfo& step : plan->steps()) integer += step.op_type == "Gemm" && step.integer;
  ASSERT_EQ(integer, 2U);
  const Tensor x = random_floats({2, 5}, 3);
  const std::vector<float> found = run_packed(*plan, x);
  const std::vector<float> expected =
      run_packed(*executor.compile({}, {.lowering = Lowering::kReference}), x);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.0501F) << i;
}

// Compares an executor that has compiled two input shapes with one that has compiled only the
// second.
void expect_own_weights_per_shape(const Graph& graph, const Shape& first, const Shape& second) {
  const Executor both(graph);
  const Executor fresh(graph);
  static_cast<void>(both.compile({{"x", first}}));
  const auto warm = both.compile({{"x", first}});
  const Tensor x = random_floats(second, 4);
  EXPECT_EQ(run_packed(*both.compile({{"x", second}}), x),
            run_packed(*fresh.compile({{"x", second}}), x));
}

TEST(PackedWeights, FollowAConstantThatIsFoldedFromTheShape) {
  SharingNet conv;
  conv.open_input();
  conv.constant("base", random_floats({3, 4, 1, 1}, 5));
  conv.constant("b", random_floats({3}, 6));
  conv.output(conv.op("Conv", "conv", {"x", conv.folded("base"), "b"}));
  expect_own_weights_per_shape(conv.graph, {1, 4, 8, 6}, {1, 4, 16, 6});

  SharingNet product;
  product.open_input();
  product.constant("base", random_floats({6, 3}, 7));
  product.output(product.op("MatMul", "product", {"x", product.folded("base")}));
  expect_own_weights_per_shape(product.graph, {1, 4, 8, 6}, {1, 4, 16, 6});
}

TEST(PackedWeights, FollowAnIntegerConstantThatIsFoldedFromTheShape) {
  SharingNet conv;
  conv.open_input();
  conv.constant("base", random_floats({3, 4, 1, 1}, 5));
  const std::string q = conv.folded("base", DType::kInt8);
  const std::string w = conv.op("DequantizeLinear", "w", {q, "w_s", "w_z"});
  conv.output(conv.qdq(conv.op("Conv", "conv", {conv.qdq("x"), w})));
  ASSERT_TRUE(Executor(conv.graph).compile({{"x", {1, 4, 8, 6}}})->steps()[1].integer);
  expect_own_weights_per_shape(conv.graph, {1, 4, 8, 6}, {1, 4, 16, 6});

  SharingNet sums;
  sums.open_input();
  sums.constant("base", random_floats({3, 4, 1, 1}, 5));
  const std::string bytes = sums.folded("base", DType::kInt8);
  const std::string s = sums.constant("x_s", Tensor::scalar<float>(0.02F));
  const std::string z = sums.constant("x_z", Tensor::scalar<std::uint8_t>(128));
  sums.output(
      sums.op("ConvInteger", "sums", {sums.op("QuantizeLinear", "x_q", {"x", s, z}), bytes, z}));
  expect_own_weights_per_shape(sums.graph, {1, 4, 8, 6}, {1, 4, 16, 6});
}

TEST(PackedWeights, GoWithTheLastPlanThatUsesThem) {
  SharingNet net;
  net.open_input();
  net.constant("base", random_floats({3, 4, 1, 1}, 5));
  net.constant("fixed", random_floats({4, 3, 1, 1}, 6));
  net.output(
      net.op("Conv", "second", {net.op("Conv", "conv", {"x", net.folded("base")}), "fixed"}));
  const Executor executor(net.graph);
  for (std::int64_t height = 1; height <= 40; ++height) {
    static_cast<void>(executor.compile({{"x", Shape{1, 4, height, 6}}}));
    const ExecutorCounts counts = executor.counts();
    EXPECT_EQ(counts.compiled, height);
    EXPECT_LE(counts.plans, 8);
    // Each plan has one pack of its own, and all plans share one. oneDNN may want two layouts of
    // the shared pack, depending on the size of the image.
    EXPECT_LE(counts.packs, counts.plans + 2);
    EXPECT_GE(counts.packs, counts.plans + 1);
  }
}

TEST(PackCache, KeepsAPackAsLongAsSomebodyHoldsIt) {
  PackCache cache;
  const auto tensor = std::make_shared<const Tensor>(random_floats({4}, 1));
  const auto equal = std::make_shared<const Tensor>(random_floats({4}, 1));
  const auto other = std::make_shared<const Tensor>(random_floats({4}, 2));
  std::weak_ptr<const Tensor> source;
  int made = 0;
  const auto make = [&] { return std::make_shared<const int>(++made); };
  auto one = cache.get({"form", {tensor, nullptr}}, make);
  EXPECT_EQ(cache.get({"form", {equal, nullptr}}, make), one);  // compared by content
  EXPECT_NE(cache.get({"form", {other, nullptr}}, make), one);
  EXPECT_NE(cache.get({"form", {nullptr, tensor}}, make), one);
  EXPECT_NE(cache.get({"form", {tensor}}, make), one);
  EXPECT_NE(cache.get({"another", {tensor, nullptr}}, make), one);
  EXPECT_EQ(made, 5);
  EXPECT_EQ(cache.size(), 1U);
  const std::weak_ptr<const void> watched = one;
  {
    const auto gone = std::make_shared<const Tensor>(random_floats({4}, 3));
    source = gone;
    one = cache.get({"form", {gone}}, make);
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(source.expired());  // kept for the next comparison
  one.reset();
  EXPECT_TRUE(source.expired());
  EXPECT_EQ(cache.size(), 0U);
}

Graph one_conv() {
  SharingNet net;
  net.open_input();
  net.constant("w", random_floats({64, 4, 3, 3}, 5));
  net.output(net.op("Relu", "relu", {net.op("Conv", "conv", {"x", "w"})}));
  return net.graph;
}

TEST(Executor, CompilesAPlanOnceWhenManyThreadsAskAtOnce) {
  const Executor executor(one_conv());
  const InputShapes shapes{{"x", Shape{1, 4, 32, 32}}};
  std::vector<std::shared_ptr<const Plan>> plans(16);
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (auto& plan : plans) {
    threads.emplace_back([&] {
      ++waiting;
      while (waiting < 16) std::this_thread::yield();
      plan = executor.compile(shapes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& plan : plans) EXPECT_EQ(plan, plans[0]);
  EXPECT_EQ(executor.counts().compiled, 1);
  // The workers of one parallel loop ask for two shapes in turn.
  parallel_items(32, 4, [&](std::int64_t i, int) {
    static_cast<void>(executor.compile({{"x", Shape{1, 4, 16 + i % 2, 16}}}));
  });
  EXPECT_EQ(executor.counts().compiled, 3);
}

TEST(Executor, TellsEveryThreadWhyAPlanCannotBe) {
  const Executor executor(one_conv());
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      try {
        static_cast<void>(executor.compile({{"x", Shape{1, 5, 16, 16}}}));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kMismatch) ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 8);
  EXPECT_EQ(executor.counts().plans, 0);
}

TEST(Executor, TellsPlansApartWhoseNamesRunTogether) {
  SharingNet net;
  net.input("x", {1, 2});
  net.op("Relu", "a", {"x"});
  const std::string both = net.op("Sigmoid", "b", {"a_out"});
  net.output(net.op("Neg", "a_out\n?b", {both}));  // its output: "a_out\n?b_out"
  const Executor executor(net.graph);
  EXPECT_EQ(executor.compile({}, {.observe = {"a_out", "b_out"}})->observed().size(), 2U);
  EXPECT_EQ(executor.compile({}, {.observe = {"a_out\n?b_out"}})->observed().size(), 1U);
}

}  // namespace
}  // namespace qtool
