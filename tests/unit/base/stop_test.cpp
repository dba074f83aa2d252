// Long loops end when they are asked to, no matter who runs them.
#include "base/stop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
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

// Asks to stop once `time` has passed.
StopCheck stop_after(milliseconds time) {
  return [end = Clock::now() + time] { return Clock::now() >= end; };
}

// The processor time of all threads, which does not pass while other processes run.
double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Whether `work` ends as cancelled, and soon.
bool is_cancelled(const std::function<void()>& work) {
  constexpr double kSoon = 15.0;  // seconds of processor time
  const std::clock_t begin = std::clock();
  try {
    work();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kCancelled && seconds_since(begin) < kSoon;
  }
  return false;
}

// A sum of 2^40 products, which takes a quarter of an hour.
std::string endless(const std::string& inputs, const std::string& before) {
  return to_text("<ir_version: 8, opset_import: [\"\": 17]>\nmain (", inputs, ") => (float y) {\n",
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

// Evaluates a node that only reads constants, and asks it to stop from the start.
void evaluate_stopped(const std::string& op_type, std::vector<Tensor> constants,
                      Node::AttributeMap attributes = {}) {
  Graph graph;
  graph.info.opsets[""] = 17;
  Node node{"node", op_type, "", {}, {graph.add_value("out")}, std::move(attributes)};
  for (Tensor& constant : constants) {
    node.inputs.push_back(
        graph.add_constant(to_text("in", node.inputs.size()), std::move(constant)));
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

// No box reaches the required score.
TEST(StopScope, EndsTheSelectionAmongManyClasses) {
  std::vector<Tensor> constants;
  constants.emplace_back(DType::kFloat32, Shape{1, 1, 4});
  constants.emplace_back(DType::kFloat32, Shape{1, 1 << 21, 1});
  constants.push_back(Tensor::scalar<std::int64_t>(1));
  constants.push_back(Tensor::scalar<float>(0.5F));
  constants.push_back(Tensor::scalar<float>(0.5F));
  EXPECT_TRUE(is_cancelled([&] { evaluate_stopped("NonMaxSuppression", std::move(constants)); }));
}

// Nodes in ONNX's text form and their inputs, which are all zeros.
struct LongCase {
  const char* name;
  std::string inputs;
  std::string nodes;
};
std::ostream& operator<<(std::ostream& out, const LongCase& test) { return out << test.name; }
const auto kCaseName = [](const auto& test) { return std::string(test.param.name); };

// Runs the case on one thread. Only the run calls `stop`, from its beginning on; compiling does
// not.
void run_case(const LongCase& test, const StopCheck& stop) {
  const Graph prepared =
      prepare(load_text(to_text("<ir_version: 8, opset_import: [\"\": 18]>\nmain (", test.inputs,
                                ") => (y) {\n", test.nodes, "\n}")));
  const Executor executor(prepared);
  const auto plan = executor.compile({}, {.threads = 1});
  std::vector<Tensor> inputs;
  for (const PortInfo& port : plan->inputs()) inputs.emplace_back(port.dtype, port.shape);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  Workspace workspace;
  const StopScope scope(stop);
  plan->run(views, workspace);
}

class LongOperator : public ::testing::TestWithParam<LongCase> {};

// Without the stop each case would run for many seconds.
TEST_P(LongOperator, EndsSoon) {
  constexpr double kAskedAfter = 0.1;  // seconds of processor time
  // A row of a convolution is the smallest part that can be stopped. A row below takes seconds at
  // most.
  constexpr double kMost = 10.0;
  std::optional<std::clock_t> begin;  // when the run began
  EXPECT_TRUE(is_cancelled([&] {
    run_case(GetParam(), [&] {
      if (!begin) begin = std::clock();
      return seconds_since(*begin) > kAskedAfter;
    });
  }));
  ASSERT_TRUE(begin.has_value());
  EXPECT_LT(seconds_since(*begin), kMost);
}

// A pooling whose input and output are u8.
std::string pool_of_bytes(const std::string& pool) {
  return to_text(R"(s = Constant <value = float {0.1}> () z = Constant <value = uint8 {0}> ()
    q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) p = )",
                 pool, R"( (d) r = QuantizeLinear (p, s, z) y = DequantizeLinear (r, s, z))");
}

INSTANTIATE_TEST_SUITE_P(
    Operators, LongOperator,
    ::testing::Values(
        LongCase{"LRN", "float[1,131072,1,16] x", "y = LRN <size = 131072> (x)"},
        LongCase{"MaxPool", "float[1,1,4096,4096] x",
                 "y = MaxPool <kernel_shape = [2047, 2047]> (x)"},
        LongCase{"AveragePool", "float[1,1,4096,4096] x",
                 "y = AveragePool <kernel_shape = [2047, 2047]> (x)"},
        LongCase{"MaxPoolRows", "float[1,64,512,512] x",
                 "y = MaxPool <kernel_shape = [129, 129]> (x)"},
        LongCase{"MaxPoolVolume", "float[1,1,240,240,240] x",
                 "y = MaxPool <kernel_shape = [127, 127, 127]> (x)"},
        LongCase{"MaxPoolBytes", "float[1,1,4096,4096] x",
                 pool_of_bytes("MaxPool <kernel_shape = [2047, 2047]>")},
        LongCase{"AveragePoolBytes", "float[1,1,4096,4096] x",
                 pool_of_bytes("AveragePool <kernel_shape = [2047, 2047]>")},
        LongCase{"MaxPoolVolumeBytes", "float[1,1,240,240,240] x",
                 pool_of_bytes("MaxPool <kernel_shape = [127, 127, 127]>")},
        LongCase{"AveragePoolVolumeBytes", "float[1,1,240,240,240] x",
                 pool_of_bytes("AveragePool <kernel_shape = [127, 127, 127]>")},
        LongCase{"Conv", "float[1,1,1024,1024] x, float[1,1,511,511] w", "y = Conv (x, w)"},
        LongCase{"ConvVolume", "float[1,64,38,38,38] x, float[512,64,7,7,7] w", "y = Conv (x, w)"},
        LongCase{"ConvGroups", "float[1,256,32768] x, float[256,64,1025] w",
                 "y = Conv <group = 4> (x, w)"},
        LongCase{"ConvTranspose", "float[1,16,512,512] x, float[16,16,255,255] w",
                 "y = ConvTranspose (x, w)"}),
    kCaseName);

class LargeOperator : public ::testing::TestWithParam<LongCase> {};

// The 2^23 elements take less than a second, so the test counts the calls of `stop`.
TEST_P(LargeOperator, LooksOften) {
  int looks = 0;
  run_case(GetParam(), [&] {
    ++looks;
    return false;
  });
  EXPECT_GE(looks, 7);  // nodes and parallel loops always call it once at their start
}

INSTANTIATE_TEST_SUITE_P(
    Operators, LargeOperator,
    ::testing::Values(
        LongCase{"MatMul", "float[4096,4096] a, float[4096,4096] b", "y = MatMul (a, b)"},
        LongCase{"ReverseSequence", "uint8[4096,2048] x, int64[2048] n",
                 "y = ReverseSequence (x, n)"},
        LongCase{"TopK", "float[2097152] x",
                 "k = Constant <value = int64[1] {500000}> () y, i = TopK (x, k)"},
        LongCase{"GridSample", "float[1,32,4,4] x, float[1,512,512,2] g", "y = GridSample (x, g)"},
        LongCase{"OneHot", "int64[2] x, float[2] v",
                 "d = Constant <value = int64 {4194304}> () y = OneHot (x, d, v)"},
        LongCase{"OneHotShort", "int64[524288] x, float[2] v",
                 "d = Constant <value = int64 {16}> () y = OneHot (x, d, v)"},
        LongCase{"MaxUnpool", "float[1,1,8,1048576] x, int64[1,1,8,1048576] i",
                 "y = MaxUnpool <kernel_shape = [1, 1]> (x, i)"},
        LongCase{"AffineGrid", "float[1,2,3] t",
                 "s = Constant <value = int64[4] {1, 1, 8, 1048576}> () y = AffineGrid (t, s)"},
        LongCase{"ArgMax", "float[8192,1024] x", "y = ArgMax <axis = 0> (x)"},
        LongCase{"ArgMin", "float[1,8388608] x", "y = ArgMin <axis = 1> (x)"},
        LongCase{"Hardmax", "float[1,8388608] x", "y = Hardmax (x)"},
        LongCase{"Trilu", "float[4096,2048] x", "y = Trilu (x)"},
        LongCase{"EyeLike", "float[4096,2048] x", "y = EyeLike (x)"},
        LongCase{"Mean", "float[8388608] x, float[1] m", "y = Mean (x, m)"},
        LongCase{"Gather", "float[16,16] x, int64[524288] i", "y = Gather (x, i)"},
        LongCase{"GatherLong", "float[1,8388608] x, int64[1] i", "y = Gather (x, i)"},
        LongCase{"GatherND", "float[16,16] x, int64[524288,1] i", "y = GatherND (x, i)"},
        LongCase{"ScatterND", "float[16,16] x, int64[524288,1] i, float[524288,16] u",
                 "y = ScatterND (x, i, u)"},
        LongCase{"ScatterNDLong", "float[1,8388608] x, int64[1,1] i, float[1,8388608] u",
                 "y = ScatterND (x, i, u)"},
        LongCase{"ConstantOfShape", "float[1] x",
                 "s = Constant <value = int64[1] {50000000}> () y = ConstantOfShape (s)"},
        LongCase{
            "Range", "float[1] x",
            R"(a = Constant <value = float {0.0}> () b = Constant <value = float {50000000.0}> ()
                c = Constant <value = float {1.0}> () y = Range (a, b, c))"},
        LongCase{"Softmax", "float[8192,1024] x", "y = Softmax (x)"},
        LongCase{"SoftmaxLong", "float[1,8388608] x", "y = Softmax (x)"},
        LongCase{"SoftmaxColumns", "float[8192,1024] x", "y = Softmax <axis = 0> (x)"},
        LongCase{"LogSoftmax", "float[1,8388608] x", "y = LogSoftmax (x)"},
        LongCase{"LayerNormalization", "float[8192,1024] x, float[1024] w",
                 "y = LayerNormalization (x, w)"},
        LongCase{"LayerNormalizationLong", "float[1,8388608] x, float[8388608] w",
                 "y = LayerNormalization (x, w)"},
        LongCase{"InstanceNormalization", "float[1,8192,1024] x, float[8192] w, float[8192] b",
                 "y = InstanceNormalization (x, w, b)"},
        LongCase{"InstanceNormalizationLong", "float[1,1,8388608] x, float[1] w, float[1] b",
                 "y = InstanceNormalization (x, w, b)"},
        LongCase{"LpNormalization", "float[1,8388608] x", "y = LpNormalization (x)"},
        LongCase{"CumSum", "float[8388608] x",
                 "a = Constant <value = int64 {0}> () y = CumSum (x, a)"},
        LongCase{"Sigmoid", "float[8388608] x", "y = Sigmoid (x)"},
        LongCase{"DynamicQuantizeLinear", "float[8388608] x",
                 "y, s, z = DynamicQuantizeLinear (x)"},
        LongCase{"QuantizeLinear", "float[8388608] x",
                 R"(s = Constant <value = float {0.1}> () z = Constant <value = uint8 {0}> ()
                q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z))"}),
    kCaseName);

// Four nested loops run 10^24 iterations in all. No integer holds so many multiplications, so the
// count saturates.
TEST(StopScope, CountsTheMultiplicationsOfNestedLoops) {
  std::string nodes = "r4 = MatMul (s3, s3)";
  for (int depth = 3; depth >= 0; --depth) {
    nodes = to_text("r", depth, " = Loop (m, , ", depth == 0 ? "x" : to_text("s", depth - 1),
                    ") < body = b", depth, " (int64 i", depth, ", bool c", depth, ", float[8,8] s",
                    depth, ") => (bool d", depth, ", float[8,8] r", depth + 1, ") { d", depth,
                    " = Identity (c", depth, ") ", nodes, " } >");
  }
  const Graph prepared = prepare(load_text(to_text(
      "<ir_version: 8, opset_import: [\"\": 17]>\nmain (float[8,8] x) => (float[8,8] r0) {\n",
      "m = Constant <value = int64 {1000000}> ()\n", nodes, "\n}")));
  const auto plan = Executor(prepared).compile({});
  std::int64_t most = 0;
  for (const StepInfo& step : plan->steps()) most = std::max(most, step.macs);
  EXPECT_EQ(most, std::numeric_limits<std::int64_t>::max());
}

// A caller that runs many samples can report how many are done, so a short run is not cut off.
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
