// Small models that would need much memory: huge extents next to an empty axis, tables for huge
// extents, constants that grow from node to node. They run, or are refused, with little memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/memory.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "support/absent.h"
#include "support/parse_onnx.h"
#include "support/places.h"
#include "unit/one_node.h"
#include "unit/peak_memory.h"

namespace qtool {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kLittle = 64 * kMiB;

std::string text_of(const std::string& graph) {
  return to_text("<ir_version: 8, opset_import: [\"\": 17]>\nmain ", graph);
}

// Runs the model on zeros. Returns the number of elements of its first output.
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

// -- nothing to compute --

struct EmptyCase {
  const char* name;
  const char* graph;
};

void PrintTo(const EmptyCase& test, std::ostream* out) { *out << test.name; }

class EmptyResult : public ::testing::TestWithParam<EmptyCase> {};

TEST_P(EmptyResult, CostsNothing) {
  const Graph prepared = prepare(load_text(text_of(GetParam().graph)));
  std::int64_t elements = -1;
  EXPECT_LT(peak_growth([&] { elements = run_zeros(prepared); }), kLittle);
  EXPECT_EQ(elements, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, EmptyResult,
    ::testing::Values(
        EmptyCase{"ResizeLinear", R"((float[1,1,6,1,5] x) => (float[a,b,c,d,e] y) {
          sizes = Constant <value = int64[5] {1, 0, 0, 8, 67108864}> ()
          y = Resize <mode = "linear"> (x, , , sizes) })"},
        EmptyCase{"ResizeCubic", R"((float[1,0,6,8] x) => (float[a,b,c,d] y) {
          sizes = Constant <value = int64[4] {1, 0, 6, 67108864}> ()
          y = Resize <mode = "cubic"> (x, , , sizes) })"},
        EmptyCase{"ResizeNearest", R"((float[1,0,6,8] x) => (float[a,b,c,d] y) {
          sizes = Constant <value = int64[4] {1, 0, 134217728, 8}> ()
          y = Resize <mode = "nearest"> (x, , , sizes) })"},
        EmptyCase{"PadEdge", R"((float[0,3] x) => (float[a,b] y) {
          pads = Constant <value = int64[4] {0, 0, 0, 134217728}> ()
          y = Pad <mode = "edge"> (x, pads) })"},
        EmptyCase{"PadConstant", R"((float[0,3] x) => (float[a,b] y) {
          pads = Constant <value = int64[4] {0, 0, 0, 1099511627000}> ()
          y = Pad (x, pads) })"},
        EmptyCase{"Tile", R"((float[0,3] x) => (float[a,b] y) {
          repeats = Constant <value = int64[2] {1, 274877906944}> ()
          y = Tile (x, repeats) })"},
        EmptyCase{"Expand", R"((float[0,1] x) => (float[a,b] y) {
          shape = Constant <value = int64[2] {1, 1099511627776}> ()
          y = Expand (x, shape) })"},
        EmptyCase{"OneHot", R"((int64[0] x) => (float[a,b] y) {
          depth = Constant <value = int64 {1099511627776}> ()
          values = Constant <value = float[2] {0.0, 1.0}> ()
          y = OneHot (x, depth, values) })"},
        EmptyCase{"ConstantOfShape", R"((float[1] x) => (float[a,b] y) {
          shape = Constant <value = int64[2] {0, 1099511627776}> ()
          y = ConstantOfShape (shape) })"},
        EmptyCase{"EyeLike", R"((float[0,1099511627776] x) => (float[a,b] y) {
          y = EyeLike (x) })"},
        EmptyCase{"CumSum", R"((float[0,1099511627776] x) => (float[a,b] y) {
          axis = Constant <value = int64 {1}> ()
          y = CumSum (x, axis) })"},
        EmptyCase{"Transpose", R"((float[0,1048576,1048576,8] x) => (float[a,b,c,d] y) {
          z = Transpose <perm = [3, 2, 1, 0]> (x)
          y = Relu (z) })"},
        EmptyCase{"ScatterND", R"((float[1048576,0] x, int64[1048576,1] i, float[1048576,0] u)
            => (float[a,b] y) { y = ScatterND (x, i, u) })"},
        EmptyCase{"Loop", R"((float[0,1099511627776] x, int64 m) => (float[a,b] y) {
          y = Loop (m, , x) < body = body (int64 i, bool c, float[0,1099511627776] s)
            => (bool d, float[0,1099511627776] t) { d = Identity (c) t = Neg (s) } > })"}),
    [](const auto& test) { return test.param.name; });

// -- tables --

// The extent depends on the memory of this machine, so that tensors of bytes fit and tables of
// words do not.
TEST(Tables, AreRefusedBeforeTheyAreAllocated) {
  const std::int64_t extent = physical_memory() / 8;
  const auto resized = [&](const char* mode) {
    return refusal_of_graph(
        to_text("(uint8[1,1,1,2] x) => (uint8[a,b,c,d] y) { sizes = Constant <value = "
                "int64[4] {1, 1, 1, ",
                extent, "}> () y = Resize <mode = \"", mode, "\"> (x, , , sizes) }"));
  };
  EXPECT_LT(peak_growth([&] { EXPECT_THAT(resized("nearest"), HasSubstr("needs tables of")); }),
            kLittle);
  EXPECT_LT(peak_growth([&] {
              EXPECT_THAT(
                  refusal_of_graph(to_text("(uint8[2] x) => (uint8[a] y) { pads = Constant <value "
                                           "= int64[2] {0, ",
                                           extent, "}> () y = Pad <mode = \"edge\"> (x, pads) }")),
                  HasSubstr("needs tables of"));
            }),
            kLittle);
}

// A model with one If for each of `makers`, which the data decides. Both branches hold the maker,
// which computes `t` from x. A Concat joins the results.
std::string conditional_sum(const std::vector<std::string>& makers, const std::string& type) {
  std::string text = to_text("(", type, "[1] x, bool c) => (", type, "[1] y) {\n");
  std::string sum;
  for (std::size_t i = 0; i < makers.size(); ++i) {
    const auto branch = [&](const char* name) {
      return to_text(name, " = ", name, i, " () => (", type, "[1] t) { ", makers[i], " }");
    };
    text +=
        to_text("y", i, " = If (c) <", branch("then_branch"), ", ", branch("else_branch"), ">\n");
    sum += to_text(i == 0 ? "y" : ", y", i);
  }
  return to_text(text, "y = Concat <axis = 0> (", sum, ") }");
}

// Pads x to `elements` elements, which needs a table with an entry for each.
std::string padding(std::int64_t elements) {
  return to_text(
      "pads = Constant <value = int64[2] {0, ", elements - 1,
      "}> () u = Pad <mode = \"edge\"> (x, pads) first = Constant <value = int64[1] {0}> ()"
      " last = Constant <value = int64[1] {1}> () t = Slice (u, first, last)");
}

// Each table fits, both together do not. The second one alone would take most of the memory.
TEST(Tables, CountTogetherInAllSubgraphs) {
  constexpr std::int64_t kEach = 4 * sizeof(std::int64_t);  // bytes of an entry
  const std::string small = padding(32 * kMiB / kEach);
  const std::string large = padding((physical_memory() - 16 * kMiB) / kEach);
  for (const auto& makers : {std::vector{small, large}, std::vector{small, small, large}}) {
    EXPECT_LT(peak_growth([&] {
                EXPECT_THAT(refusal_of_graph(conditional_sum(makers, "uint8")),
                            HasSubstr("needs tables of"));
              }),
              5 * kLittle);
  }
}

// -- tensors of subgraphs --

// Makes two tensors of 2^22 elements from x: 32 MiB.
constexpr const char* kGrowing = R"(
  e = Constant <value = int64[1] {4194304}> ()
  u = Expand (x, e) v = Neg (u) t = ReduceMax (v) )";

// Bodies never run at the same time, so they share their memory, which the plan counts.
TEST(Subgraphs, TakeTheMemoryOfTheirPlan) {
  const Graph prepared =
      prepare(load_text(text_of(conditional_sum(std::vector<std::string>(16, kGrowing), "float"))));
  EXPECT_GE(Executor(prepared).compile({})->arena_bytes(), 32 * kMiB);
  EXPECT_LT(peak_growth([&] { run_zeros(prepared); }), 3 * 32 * kMiB);
}

TEST(Subgraphs, AreRefusedWithWhatLiesAroundThem) {
  // Two tensors of half the memory each before the If, one of which is read after it, and two of a
  // third each inside of it.
  const std::int64_t words = physical_memory() / std::int64_t{sizeof(float)};
  const auto grow = [](std::int64_t elements, const char* name) {
    return to_text("e", name, " = Constant <value = int64[1] {", elements, "}> () u", name,
                   " = Expand (x, e", name, ") v", name, " = Neg (u", name, ")\n");
  };
  const auto around = [&](std::int64_t elements) {
    const std::string inner = to_text("{ ", grow(words / 3, "b"), " t = ReduceMax (vb) }");
    return to_text("(float[1] x, bool c) => (float[a] y) {\n", grow(elements, "a"),
                   "m = If (c) <then_branch = one () => (float[1] t) ", inner,
                   ", else_branch = two () => (float[1] t) ", inner,
                   ">\n w = ReduceMax (va) y = Add (m, w) }");
  };
  EXPECT_NO_THROW(static_cast<void>(Executor(prepare(load_text(text_of(around(1))))).compile({})));
  const Graph both = prepare(load_text(text_of(around(words / 2))));
  try {
    static_cast<void>(Executor(both).compile({}));
    ADD_FAILURE() << "expected a refusal";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the activations need"));
  }
}

TEST(Range, IsNotMadeBeforeItsMemoryIsCompared) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;  // elements that a range may have
  if (physical_memory() >= 8 * kMost) GTEST_SKIP() << "the longest range fits this machine";
  const std::string text = to_text(
      "(float[1] x) => (int64[a] y) { from = Constant <value = int64 {0}> () to = Constant "
      "<value = int64 {",
      kMost, "}> () by = Constant <value = int64 {1}> () y = Range (from, to, by) }");
  EXPECT_LT(
      peak_growth([&] { EXPECT_THAT(refusal_of_graph(text), HasSubstr("the activations need")); }),
      kLittle);
}

// Each axis of one element takes two bytes in the file, but a whole row in the result.
TEST(NonZero, IsNotMadeBeforeItsMemoryIsCompared) {
  constexpr std::int64_t kAxes = 64;
  constexpr std::int64_t kElements = 1'600'000;
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("many axes");
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name("c");
  tensor.set_data_type(onnx::TensorProto::BOOL);
  for (int axis = 0; axis < kAxes - 1; ++axis) tensor.add_dims(1);
  tensor.add_dims(kElements);
  tensor.set_raw_data(std::string(kElements, '\1'));
  *graph.add_node() = node_proto("NonZero", {"c"}, {"y"});
  *graph.add_output() = tensor_info("y", {kAxes, kElements}, onnx::TensorProto::INT64);
  EXPECT_LT(
      peak_growth([&] {
        const Graph prepared = prepare(load_onnx_bytes(model.SerializeAsString(), "", "many axes"));
        EXPECT_EQ(Executor(prepared).compile({})->outputs()[0].shape, (Shape{kAxes, kElements}));
      }),
      2 * kLittle);
}

// Loads a graph in text form and runs it on zeros. Returns the number of elements of its first
// output.
std::int64_t load_and_run(const std::string& graph) {
  return run_zeros(prepare(load_text(text_of(graph))));
}

// Neither boxes nor scores have elements.
TEST(NonMaxSuppression, EndsAtOnceWithoutBoxes) {
  std::int64_t elements = -1;
  EXPECT_LT(peak_growth([&] {
              elements = load_and_run(R"((float[1] x) => (int64[a,b] y) {
                boxes = Constant <value = float[1,0,4] {}> ()
                scores = Constant <value = float[1,1099511627776,0] {}> ()
                most = Constant <value = int64[1] {5}> ()
                y = NonMaxSuppression (boxes, scores, most) })");
            }),
            kLittle);
  EXPECT_EQ(elements, 0);
}

// All slices along an axis are equal when they have no elements.
TEST(Unique, OfSlicesWithoutElementsCostsNothing) {
  std::int64_t elements = -1;
  EXPECT_LT(peak_growth([&] {
              elements = load_and_run(R"((float[1] x) => (float[a,b] y) {
                c = Constant <value = float[0,67108864] {}> ()
                y = Unique <axis = 1> (c) })");
            }),
            kLittle);
  EXPECT_EQ(elements, 0);
  EXPECT_LT(peak_growth([&] {
              EXPECT_THAT(refusal_of_graph(R"((float[1] x) => (int64[a] y) {
                            c = Constant <value = float[0,1099511627776] {}> ()
                            u, first, y = Unique <axis = 1> (c) })"),
                          HasSubstr("the activations need"));
            }),
            kLittle);
}

TEST(Unique, OfSlicesWithoutElementsKeepsTheFirst) {
  for (const std::int64_t sorted : {0, 1}) {
    const auto plan = Executor(prepare(load_text(text_of(to_text(
                                   R"((float[1] x) => (float[a,b] u, int64[c] f, int64[d] i,
                                                       int64[e] n) {
        c = Constant <value = float[0,3] {}> ()
        u, f, i, n = Unique <axis = 1, sorted = )",
                                   sorted, "> (c) }")))))
                          .compile({});
    const Tensor x(DType::kFloat32, Shape{1});
    const std::vector<TensorView> inputs{TensorView(x)};
    Workspace workspace;
    const auto outputs = plan->run(inputs, workspace);
    const auto ints = [&](std::size_t i) {
      const auto* data = reinterpret_cast<const std::int64_t*>(outputs[i].data);
      return std::vector<std::int64_t>(data, data + outputs[i].shape.elements());
    };
    EXPECT_EQ(outputs[0].shape, (Shape{0, 1}));
    EXPECT_THAT(ints(1), ::testing::ElementsAre(0));
    EXPECT_THAT(ints(2), ::testing::ElementsAre(0, 0, 0));
    EXPECT_THAT(ints(3), ::testing::ElementsAre(3));
  }
}

// (2^40 - 1) * 2^24 does not fit 64 bits.
TEST(Col2Im, RefusesBlocksThatReachTooFar) {
  EXPECT_THAT(refusal_of_graph(R"((float[0,1099511627776,16777217] x) => (float[a,b,c] y) {
                image = Constant <value = int64[1] {1}> ()
                block = Constant <value = int64[1] {1099511627776}> ()
                y = Col2Im <dilations = [16777216]> (x, image, block) })"),
              HasSubstr("reaches over more than 16777216 elements"));
}

// -- constants --

// A model with a constant of one float, whose length each of `times` nodes doubles.
std::string doubling(int times) {
  std::string text = "(float[1] x) => (float[a] y) { c0 = Constant <value = float[1] {1.0}> ()\n";
  for (std::int64_t i = 1; i <= times; ++i) {
    text += to_text("c", i, " = Concat <axis = 0> (c", i - 1, ", c", i - 1, ")\n");
  }
  return to_text(text, "r = ReduceSum (c", times, ") y = Add (x, r) }");
}

TEST(Folding, IsBoundedInSum) {
  const Graph prepared = prepare(load_text(text_of(doubling(27))));  // 512 MiB, as much before it
  EXPECT_LT(peak_growth([&] { static_cast<void>(Executor(prepared).compile({})); }), 300 * kMiB);
}

// A constant that is too large to fold is computed at each run.
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
    text += to_text("y", i, " = If (c) <\n");
    for (const char* branch : {"then_branch", "else_branch"}) {
      text += to_text(branch, " = ", branch, i, " () => (float[1] t) {\n",
                      "s = Constant <value = int64[1] {8000000}> ()\n",
                      "f = ConstantOfShape (s) r = ReduceSum (f) t = Add (x, r) }",
                      branch[0] == 't' ? ",\n" : "\n");
    }
    text += ">\n";
  }
  text += "y = Sum (";
  for (std::int64_t i = 0; i < 12; ++i) text += to_text(i == 0 ? "y" : ", y", i);
  text += ") }";
  EXPECT_LT(peak_growth([&] {
              static_cast<void>(Executor(prepare(load_text(text_of(text)))).compile({}));
            }),
            400 * kMiB);
}

// The bound of folding counts all the memory that it takes, and not only its result.
TEST(FoldConstants, LeavesANodeThatNeedsLargeTables) {
  const Graph graph = load_text(text_of(R"((float[1,16777216] x) => (float[a,b] y) {
    c = Constant <value = float[1,1] {1}> ()
    pads = Constant <value = int64[4] {0, 0, 0, 16777215}> ()
    p = Pad <mode = "edge"> (c, pads)
    y = Add (x, p) })"));
  Graph prepared;
  EXPECT_LT(peak_growth([&] { prepared = prepare(graph); }), 200 * kMiB);
  EXPECT_EQ(prepared.nodes().size(), 2U);
}

// A count beyond the budget must be noticed before the first iteration. Each iteration makes a
// tensor with one more axis, and all of it would be folded.
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
  for (const auto& judged : {std::pair("r8_resize_no_elements.onnx", true),
                             std::pair("r9_concat_doubling.onnx", false)}) {
    std::string message;
    EXPECT_LT(peak_growth([&] {
                try {
                  run_zeros(prepare(load_onnx(folder / judged.first)));
                } catch (const Error& error) {
                  message = error.what();
                }
              }),
              300 * kMiB);
    EXPECT_EQ(message.empty(), judged.second) << message;
  }
}

}  // namespace
}  // namespace qtool
