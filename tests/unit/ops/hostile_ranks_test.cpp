// Small models whose tensors get very many axes. Each value holds its extents, so a chain of such
// nodes would take memory in proportion to the square of its length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "unit/onnx_models.h"
#include "unit/peak_memory.h"
#include "unit/text_models.h"

namespace qtool {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kMegabyte = 1 << 20;

std::string rank_refusal(const onnx::ModelProto& model) {
  try {
    static_cast<void>(Executor(prepare(load_onnx_bytes(model.SerializeAsString(), "", "axes"))));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Functions that call each other twice: 2^13 nodes of one more axis each.
TEST(Ranks, AreBoundedInAChainOfNodes) {
  std::string functions = R"(<domain: "local", opset_import: ["" : 17]> f0 (x) => (y) {
    axes = Constant <value = int64[1] {0}> ()
    y = Unsqueeze (x, axes)
  }
  )";
  constexpr int kDepth = 13;
  for (int i = 1; i <= kDepth; ++i) {
    functions += to_text("<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]> f", i,
                         " (x) => (y) { m = local.f", i - 1, " (x) y = local.f", i - 1, " (m) }\n");
  }
  const std::string text = with_function(
      to_text("main (float[1] x) => (float[a] y) { y = local.f", kDepth, " (x) }"), functions);
  std::string message;
  EXPECT_LT(peak_growth([&] { message = refusal_of(text); }), 100 * kMegabyte);
  EXPECT_THAT(message, HasSubstr("(Unsqueeze): output 0 has 65 axes, expected at most 64"));
}

// Values that depend only on constants are computed before shapes are inferred.
TEST(Ranks, AreBoundedWhenConstantsAreFolded) {
  std::string text =
      "main (float[1] x) => (float[a] y) { axes = Constant <value = int64[1] {0}> ()"
      " c0 = Constant <value = float[1] {1.0}> ()\n";
  constexpr int kNodes = 3000;
  for (int i = 1; i <= kNodes; ++i) {
    text += to_text("c", i, " = Unsqueeze (c", i - 1, ", axes)\n");
  }
  text = to_text(kHead, text, "y = Add (x, c", kNodes, ") }");
  std::string message;
  EXPECT_LT(peak_growth([&] { message = refusal_of(text); }), 100 * kMegabyte);
  EXPECT_THAT(message, HasSubstr("(Unsqueeze): output 0 has 65 axes, expected at most 64"));
}

TEST(Ranks, AreBoundedWhereAFileDeclaresThem) {
  const auto declared = [](const std::string& name, std::size_t axes) {
    onnx::ModelProto model = small_model();
    onnx::GraphProto& graph = *model.mutable_graph();
    const onnx::ValueInfoProto info = tensor_info(name, std::vector<std::int64_t>(axes, 1));
    if (name == "x") *graph.mutable_input(0) = info;
    if (name == "y") *graph.mutable_output(0) = info;
    if (name == "sum") *graph.add_value_info() = info;
    if (name == "w") {
      *graph.mutable_initializer(0) = float_proto("w", std::vector<std::int64_t>(axes, 1), {1});
    }
    return model;
  };
  for (const char* name : {"x", "sum", "y"}) {
    EXPECT_THAT(rank_refusal(declared(name, 64)), IsEmpty());
    EXPECT_THAT(rank_refusal(declared(name, 65)),
                HasSubstr(to_text("'", name, "' has 65 axes, expected at most 64")));
  }
  EXPECT_THAT(rank_refusal(declared("w", 64)), IsEmpty());
  EXPECT_THAT(rank_refusal(declared("w", 65)),
              HasSubstr("initializer 'w': has 65 axes, expected at most 64"));
}

TEST(Ranks, AreBoundedWhereACallerNamesThem) {
  const Graph graph = load_text(to_text(kHead, "main (float x) => (float y) { y = Relu (x) }"));
  Graph open = graph;
  open.declare(open.inputs()[0], DType::kFloat32, std::nullopt);
  const Executor executor(open);
  const InputShapes most = {{"x", Shape(std::vector<std::int64_t>(64, 1))}};
  const InputShapes more = {{"x", Shape(std::vector<std::int64_t>(65, 1))}};
  EXPECT_EQ(executor.compile(most)->outputs()[0].shape.rank(), 64);
  try {
    static_cast<void>(executor.compile(more));
    ADD_FAILURE() << "65 axes were accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("input 'x' has 65 axes, expected at most 64"));
  }
}

// A constant says how many axes a Reshape makes, before anything infers its shape.
TEST(Ranks, OfAReshapeAreNotGuessedBeyondTheLimit) {
  const std::string text = to_text(kHead, R"(main (float[1] x, bool c) => (float[1] y) {
    many = Constant <value = int64[1] {4194304}> ()
    ones = ConstantOfShape <value = int64[1] {1}> (many)
    z = Reshape (x, ones)
    y = If (c) <
      then_branch = then () => (float[1] t) { t = ReduceSum (z) },
      else_branch = other () => (float[1] e) { e = ReduceMax (z) }
    >
  })");
  EXPECT_LT(peak_growth([&] { static_cast<void>(prepare(load_text(text))); }), 150 * kMegabyte);
}

std::string growing(const std::string& condition) {
  return to_text(kHead, R"(main (float[1] x) => (float[a] y) {
    n = Constant <value = int64 {2097152}> ()
    axes = Constant <value = int64[1] {0}> ()
    huge = Constant <value = int64 {1099511627776}> ()
    y = Loop (n, , x) <
      body = body (int64 i, bool go, float[b] s) => (bool more, float[d] t) {
        )",
                 condition, R"(
        t = Unsqueeze (s, axes)
      }
    >
  })");
}

// Conditions that are known only in each iteration.
TEST(Ranks, AreBoundedInALoopThatIsUnrolled) {
  for (const char* condition :
       {"more = Less (i, huge)", "stop = Not (go) more = Not (stop)", "more = Identity (go)"}) {
    std::string message;
    EXPECT_LT(peak_growth([&] { message = refusal_of(growing(condition)); }), 100 * kMegabyte)
        << condition;
    EXPECT_THAT(message, testing::AnyOf(HasSubstr("has 65 axes, expected at most 64"),
                                        HasSubstr("runs too often to be unrolled")))
        << condition;
  }
}

// Each iteration that is unrolled holds the extents of its states.
TEST(Loop, IsNotUnrolledWhenItsShapesWouldTakeMuchMemory) {
  const auto steps = [](int axes) {
    std::string shape = "1";
    for (int i = 1; i < axes; ++i) shape += ",1";
    const std::string text =
        to_text(kHead, "main (float[", shape, "] x) => (float[", shape, R"(] y) {
      n = Constant <value = int64 {1500}> ()
      y = Loop (n, , x) <
        body = body (int64 i, bool go, float[)",
                shape, "] s) => (bool more, float[", shape, R"(] t) {
          more = Identity (go)
          t = Neg (s)
        }
      >
    })");
    return std::ssize(Executor(prepare(load_text(text))).compile({})->steps());
  };
  EXPECT_EQ(steps(8), 1500);
  EXPECT_EQ(steps(60), 1);
}

}  // namespace
}  // namespace qtool
