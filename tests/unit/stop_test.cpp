// Long loops end when they are asked to, whoever runs them.
#include "base/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "ops/evaluate.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "support/parse_onnx.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Asks to stop from a moment on that is so far ahead.
StopCheck stop_after(milliseconds time) {
  return [end = Clock::now() + time] { return Clock::now() >= end; };
}

// Whether `work` ends as cancelled, and soon.
bool is_cancelled(const std::function<void()>& work) {
  const Clock::time_point begin = Clock::now();
  try {
    work();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kCancelled && Clock::now() - begin < std::chrono::seconds(15);
  }
  return false;
}

// A sum of 2^40 products, which takes a quarter of an hour.
std::string endless(const std::string& inputs, const std::string& before) {
  return concat("<ir_version: 8, opset_import: [\"\": 17]>\nmain (", inputs, ") => (float y) {\n",
                before, "y = Einsum <equation = \"ij,kl->\"> (a, b) }");
}

TEST(StopScope, EndsAnOperatorThatRunsLong) {
  const Graph prepared = prepare(load_text(endless("float[1024,1024] a, float[1024,1024] b", "")));
  std::atomic<bool> asked = false;
  const Executor executor(prepared, [&] { return asked.load(); });
  for (const int threads : {1, 3}) {
    asked = false;
    const auto plan = executor.compile({}, {.threads = threads});
    std::vector<Tensor> inputs;
    for (const PortInfo& port : plan->inputs()) inputs.emplace_back(port.dtype, port.shape);
    asked = true;
    EXPECT_TRUE(is_cancelled([&] {
      Workspace workspace;
      plan->run(std::vector<TensorView>(inputs.begin(), inputs.end()), workspace);
    }));
  }
}

TEST(StopScope, EndsFoldingThatTakesLong) {
  const std::string text = endless("float[1] x", R"(
    s = Constant <value = int64[2] {1024, 1024}> ()
    a = ConstantOfShape (s)
    b = ConstantOfShape (s)
  )");
  const Graph prepared = prepare(load_text(text));
  EXPECT_TRUE(is_cancelled(
      [&] { static_cast<void>(Executor(prepared, stop_after(milliseconds(300))).compile({})); }));
}

TEST(StopScope, EndsALoopThatRunsOften) {
  const Graph prepared = prepare(load_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    main (float[256,256] x, int64 m) => (float[256,256] y) {
      y = Loop (m, , x) <
        body = body (int64 i, bool ci, float[256,256] s) => (bool co, float[256,256] so) {
          so = MatMul (s, s)
          co = Identity (ci)
        }
      >
    })"));
  std::atomic<bool> asked = false;
  const Executor executor(prepared, [&] { return asked.load(); });
  const auto plan = executor.compile({});
  const Tensor x(DType::kFloat32, Shape{256, 256});
  const Tensor m = Tensor::scalar<std::int64_t>(999'999);
  const std::vector<TensorView> inputs{TensorView(x), TensorView(m)};
  asked = true;
  EXPECT_TRUE(is_cancelled([&] {
    Workspace workspace;
    plan->run(inputs, workspace);
  }));
}

// Evaluates a node that only reads constants, which is asked to stop from the start.
void evaluate_stopped(const std::string& op_type, std::vector<Tensor> constants,
                      Node::AttributeMap attributes = {}) {
  Graph graph;
  graph.info.opsets[""] = 17;
  Node node{"node", op_type, "", {}, {graph.add_value("out")}, std::move(attributes)};
  for (Tensor& constant : constants) {
    node.inputs.push_back(
        graph.add_constant(concat("in", node.inputs.size()), std::move(constant)));
  }
  const NodeId id = graph.add_node(std::move(node));
  const StopCheck stop = [] { return true; };
  const StopScope scope(stop);
  static_cast<void>(evaluate_node(graph, id, {}));
}

TEST(StopScope, EndsTheSearchForUniqueSlices) {
  std::vector<Tensor> constants;
  constants.emplace_back(DType::kFloat32, Shape{1024, 2048});
  EXPECT_TRUE(is_cancelled([&] {
    evaluate_stopped("Unique", std::move(constants), {{"axis", std::int64_t{0}}});
  }));
}

// No box reaches the score that is demanded.
TEST(StopScope, EndsTheSelectionAmongManyClasses) {
  std::vector<Tensor> constants;
  constants.emplace_back(DType::kFloat32, Shape{1, 1, 4});
  constants.emplace_back(DType::kFloat32, Shape{1, 1 << 21, 1});
  constants.push_back(Tensor::scalar<std::int64_t>(1));
  constants.push_back(Tensor::scalar<float>(0.5F));
  constants.push_back(Tensor::scalar<float>(0.5F));
  EXPECT_TRUE(is_cancelled([&] { evaluate_stopped("NonMaxSuppression", std::move(constants)); }));
}

// Whoever runs many samples says how many were done, so a short run is not cut off.
TEST(StopScope, LetsShortRunsEnd) {
  const Graph prepared = prepare(load_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    main (float[4] x) => (float[4] y) { y = Neg (x) })"));
  std::atomic<bool> asked = false;
  const Executor executor(prepared, [&] { return asked.load(); });
  const auto plan = executor.compile({});
  asked = true;
  const Tensor x(DType::kFloat32, Shape{4});
  const std::vector<TensorView> inputs{TensorView(x)};
  Workspace workspace;
  EXPECT_NO_THROW(plan->run(inputs, workspace));
}

TEST(StopScope, ReachesTheWorkersOfParallelLoops) {
  const StopCheck stop = [] { return true; };
  const StopScope scope(stop);
  EXPECT_TRUE(is_cancelled([] {
    parallel_items(8, 4, [](std::int64_t, int) {
      for (int i = 0; i < 3; ++i) check_stop_inside();
    });
  }));
}

TEST(StopScope, IsTheOutermostOne) {
  const StopCheck never = [] { return false; };
  const StopCheck always = [] { return true; };
  EXPECT_NO_THROW(check_stop_inside());
  {
    const StopScope outer(never);
    const StopScope inner(always);
    EXPECT_NO_THROW(check_stop_inside());
  }
  const StopScope scope(always);
  EXPECT_THROW(check_stop_inside(), Error);
}

}  // namespace
}  // namespace qtool
