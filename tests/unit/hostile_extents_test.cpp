// Small models whose constants grow from node to node. They run, or are refused, with little
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "peak_memory.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "support/absent.h"
#include "support/parse_onnx.h"
#include "support/places.h"

namespace qtool {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::string text_of(const std::string& graph) {
  return concat("<ir_version: 8, opset_import: [\"\": 17]>\nmain ", graph);
}

// What the model computes from zeros; the number of elements of its first output.
std::int64_t run_zeros(const Graph& prepared) {
  const Executor executor(prepared);
  const auto plan = executor.compile({});
  std::vector<Tensor> inputs;
  for (const PortInfo& port : plan->inputs()) inputs.emplace_back(port.dtype, port.shape);
  Workspace workspace;
  const auto outputs = plan->run(std::vector<TensorView>(inputs.begin(), inputs.end()), workspace);
  return outputs[0].shape.elements();
}

std::string refusal_of_graph(const std::string& graph) {
  try {
    run_zeros(prepare(load_text(text_of(graph))));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// -- constants --

// One float, doubled by each of so many nodes.
std::string doubling(int times) {
  std::string text = "(float[1] x) => (float[a] y) { c0 = Constant <value = float[1] {1.0}> ()\n";
  for (std::int64_t i = 1; i <= times; ++i) {
    text += concat("c", i, " = Concat <axis = 0> (c", i - 1, ", c", i - 1, ")\n");
  }
  return concat(text, "r = ReduceSum (c", times, ") y = Add (x, r) }");
}

TEST(Folding, IsBoundedInSum) {
  const Graph prepared = prepare(load_text(text_of(doubling(27))));  // 512 MiB, as much before it
  EXPECT_LT(peak_growth([&] { static_cast<void>(Executor(prepared).compile({})); }), 300 * kMiB);
}

// What is too large to fold is computed at each run.
TEST(Folding, LeavesNodesThatRun) {
  const Graph prepared = prepare(load_text(text_of(doubling(25))));  // 128 MiB
  const auto plan = Executor(prepared).compile({});
  Workspace workspace;
  const Tensor x = Tensor::of<float>({1}, {0.5F});
  const std::vector<TensorView> inputs{TensorView(x)};
  const float y = plan->run(inputs, workspace)[0].values<float>()[0];
  EXPECT_FLOAT_EQ(y, 33554432.5F);
}

TEST(Folding, RefusesWhatDoesNotFitTheMachine) {
  std::string message;
  EXPECT_LT(peak_growth([&] { message = refusal_of_graph(doubling(38)); }), 300 * kMiB);
  EXPECT_THAT(message, HasSubstr("the activations need"));
}

// Each subgraph by itself is small.
TEST(Folding, IsBoundedInSumOverAllSubgraphs) {
  std::string text = "(float[1] x, bool c) => (float[a] y) {\n";
  for (std::int64_t i = 0; i < 12; ++i) {
    text += concat("y", i, " = If (c) <\n");
    for (const char* branch : {"then_branch", "else_branch"}) {
      text += concat(branch, " = ", branch, i, " () => (float[1] t) {\n",
                     "s = Constant <value = int64[1] {8000000}> ()\n",
                     "f = ConstantOfShape (s) r = ReduceSum (f) t = Add (x, r) }",
                     branch[0] == 't' ? ",\n" : "\n");
    }
    text += ">\n";
  }
  text += "y = Sum (";
  for (std::int64_t i = 0; i < 12; ++i) text += concat(i == 0 ? "y" : ", y", i);
  text += ") }";
  EXPECT_LT(peak_growth([&] {
              static_cast<void>(Executor(prepare(load_text(text_of(text)))).compile({}));
            }),
            400 * kMiB);
}

// A count beyond the budget is seen before the first iteration, however large it is: each one makes
// a tensor of one more axis, and folds all of it.
TEST(Loop, IsNotUnrolledForALargeCount) {
  const std::string text = text_of(R"((float[1] x) => (float[a] y) {
    n = Constant <value = int64[1] {2097152}> ()
    axes = Constant <value = int64[1] {0}> ()
    c = Constant <value = bool[1] {1}> ()
    y = Loop (n, c, x) <
      body = body (int64 i, bool go, float[b] s) => (bool more, float[d] t) {
        more = Identity (go)
        t = Unsqueeze (s, axes)
      }
    >
  })");
  EXPECT_LT(peak_growth([&] {
              try {
                static_cast<void>(Executor(prepare(load_text(text))).compile({}));
              } catch (const Error&) {  // its shapes depend on how often it runs
              }
            }),
            100 * kMiB);
}

// -- the files of a trial --

TEST(HostileFiles, RunOrAreRefusedWithLittleMemory) {
  const std::filesystem::path folder = std::filesystem::path(kSharedData) / "hostile";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << absent(folder);
  std::string message;
  EXPECT_LT(peak_growth([&] {
              try {
                run_zeros(prepare(load_onnx(folder / "r9_concat_doubling.onnx")));
              } catch (const Error& error) {
                message = error.what();
              }
            }),
            300 * kMiB);
  EXPECT_NE(message, "");
}

}  // namespace
}  // namespace qtool
