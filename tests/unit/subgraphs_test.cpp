// Models with If, Loop, Scan and functions: what they compute, what is left of them when the graph
// is prepared, what a file holds, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "onnx_check.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/exec/prepare.h"
#include "support/parse_onnx.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.nodes()) ops.push_back(graph.node(id).op_type);
  return ops;
}

std::vector<float> run(const Graph& graph, const std::vector<Tensor>& inputs,
                       const InputShapes& shapes = {}) {
  std::vector<float> first;
  for (const Lowering lowering : {Lowering::kInteger, Lowering::kReference}) {
    CompileOptions options;
    options.lowering = lowering;
    const auto plan = Executor(graph).compile(shapes, options);
    Workspace workspace;
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    const TensorView output = plan->run(views, workspace)[0];
    const auto* data = reinterpret_cast<const float*>(output.data);
    std::vector<float> values(data, data + output.shape.elements());
    if (lowering == Lowering::kReference) {
      EXPECT_EQ(values, first);
    }
    first = std::move(values);
  }
  return first;
}

// The same for the model as loaded, prepared, and written to a file and read again.
std::vector<float> run_all_ways(const std::string& text, const std::vector<Tensor>& inputs) {
  const Graph prepared = prepare(load_text(text));
  const std::vector<float> values = run(prepared, inputs);
  const std::string bytes = save_onnx_bytes(prepared);
  EXPECT_EQ(complaint_of_checker(bytes), "");
  const Graph again = load_onnx_bytes(bytes, "", "again");
  EXPECT_EQ(fingerprint(again), fingerprint(prepared));
  EXPECT_EQ(run(prepare(again), inputs), values);
  return values;
}

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({std::ssize(values)}, std::span(values));
}

// Tensors cannot be copied, and so not be listed in braces.
template <typename... Tensors>
std::vector<Tensor> list(Tensors... tensors) {
  std::vector<Tensor> all;
  (all.push_back(std::move(tensors)), ...);
  return all;
}

std::string refusal(const std::string& text) {
  try {
    const Graph prepared = prepare(load_text(text));
    std::vector<Tensor> inputs;
    const auto plan = Executor(prepared).compile({});
    for (const PortInfo& port : plan->inputs()) inputs.emplace_back(port.dtype, port.shape);
    Workspace workspace;
    plan->run(std::vector<TensorView>(inputs.begin(), inputs.end()), workspace);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\": 17, \"local\": 1]>\n";

// -- functions --

std::string with_function(const std::string& graph, const std::string& functions) {
  return concat(kHead, graph, "\n", functions);
}

TEST(Functions, BecomeTheNodesOfEachCallNamedAfterIt) {
  const std::string text = with_function(
      R"(main (float[3] x) => (float[3] y) {
           a = local.Twice (x)
           y = local.Twice (a)
         })",
      R"(<domain: "local", opset_import: ["" : 17]>
         Twice (v) => (w) { half = Identity (v)  w = Add (half, v) })");
  const Graph graph = load_text(text);
  EXPECT_THAT(ops_of(graph), ElementsAre("Identity", "Add", "Identity", "Add"));
  EXPECT_TRUE(graph.find_value("Twice/half"));
  EXPECT_TRUE(graph.find_value("Twice/half_1"));
  EXPECT_THAT(run_all_ways(text, list(floats({1, 2, -3}))), ElementsAre(4, 8, -12));
}

TEST(Functions, TakeAttributesCallEachOtherAndLeaveOperandsOut) {
  const std::string text = with_function(
      R"(main (float[4] x) => (float[4] y) { y = local.Outer <slope: float = 0.5> (x) })",
      R"(<domain: "local", opset_import: ["" : 17, "local" : 1]>
         Outer <slope> (v) => (w) { w, unused = local.Inner <alpha: float = @slope> (v) }
         <domain: "local", opset_import: ["" : 17]>
         Inner <alpha> (v, high) => (w, same) {
           r = LeakyRelu <alpha: float = @alpha> (v)
           w = Clip (r, , high)
           same = Identity (v)
         })");
  EXPECT_THAT(run_all_ways(text, list(floats({-4, -1, 0, 3}))), ElementsAre(-2, -0.5F, 0, 3));
}

TEST(Functions, MayHandOutAnInput) {
  onnx::ModelProto model = parse_onnx(with_function(
      "main (float[2] x) => (float[2] y) { a = local.Same (x)  y = Neg (a) }",
      R"(<domain: "local", opset_import: ["" : 17]> Same (v) => (v) { unused = Abs (v) })"));
  EXPECT_THAT(
      run(prepare(load_onnx_bytes(model.SerializeAsString(), "", "m")), list(floats({1, -2}))),
      ElementsAre(-1, 2));
}

TEST(Functions, HaveDefaultAttributesSinceVersion9) {
  onnx::ModelProto model =
      parse_onnx(with_function("main (float[2] x) => (float[2] y) { y = local.Leak (x) }",
                               R"(<domain: "local", opset_import: ["" : 17]>
         Leak <alpha> (v) => (w) { w = LeakyRelu <alpha: float = @alpha> (v) })"));
  onnx::AttributeProto value;
  value.set_name("alpha");
  value.set_type(onnx::AttributeProto::FLOAT);
  value.set_f(0.25F);
  onnx::FunctionProto& function = *model.mutable_functions(0);
  function.clear_attribute();
  function.mutable_unknown_fields()->AddLengthDelimited(11, value.SerializeAsString());
  EXPECT_THAT(
      run(prepare(load_onnx_bytes(model.SerializeAsString(), "", "m")), list(floats({-4, 2}))),
      ElementsAre(-1, 2));
}

TEST(Functions, AreRefusedWhenTheyCallThemselvesOrGrowWithoutEnd) {
  EXPECT_THAT(refusal(with_function("main (float[2] x) => (float[2] y) { y = local.F (x) }",
                                    R"(<domain: "local", opset_import: ["local" : 1]>
                     F (v) => (w) { w = local.F (v) })")),
              HasSubstr("function 'F' calls itself"));
  std::string chain;
  for (int i = 0; i < 12; ++i) {
    chain += concat("<domain: \"local\", opset_import: [\"local\" : 1]> F", i, " (v) => (w) {");
    for (int k = 0; k < 4; ++k) {
      chain += concat(k == 3 ? "w" : concat("t", k), " = local.F", i + 1, " (",
                      k == 0 ? "v" : concat("t", k - 1), ")\n");
    }
    chain += "}\n";
  }
  chain += "<domain: \"local\", opset_import: [\"\" : 17]> F12 (v) => (w) { w = Abs (v) }";
  EXPECT_THAT(
      refusal(with_function("main (float[2] x) => (float[2] y) { y = local.F0 (x) }", chain)),
      HasSubstr("the calls of functions"));
}

TEST(Functions, AreRefusedWhenTheirOpsetHasAnotherMeaning) {
  const auto with_opset = [](int opset, const std::string& op) {
    return with_function("main (float[2, 2] x) => (float[2, 2] y) { y = local.F (x) }",
                         concat("<domain: \"local\", opset_import: [\"\" : ", opset,
                                "]> F (v) => (w) { w = ", op, " (v) }"));
  };
  EXPECT_EQ(refusal(with_opset(15, "Softmax")), "");
  EXPECT_THAT(refusal(with_opset(11, "Softmax")),
              HasSubstr("function 'F': its Softmax is of version 11"));
}

// -- If --

std::string choose(const std::string& condition, const std::string& inputs = "") {
  return concat(kHead, "main (float[3] x", inputs, ") => (float[3] y) {\n", condition, R"(
    twice = Add (x, x)
    y = If (c) <
      then_branch = then () => (float[3] t) { t = Add (twice, x) },
      else_branch = other () => (float[3] e) { e = Neg (x) }
    >
  })");
}

TEST(If, GivesWayToTheBranchOfAKnownCondition) {
  const std::string fixed = choose("c = Constant <value = bool {1}> ()");
  EXPECT_THAT(ops_of(prepare(load_text(fixed))), ElementsAre("Add", "Add"));
  EXPECT_THAT(run_all_ways(fixed, list(floats({1, 2, 3}))), ElementsAre(3, 6, 9));
  const std::string by_shape = choose(R"(
    s = Shape (x)
    two = Constant <value = int64[1] {2}> ()
    less = Less (s, two)
    axes = Constant <value = int64[1] {0}> ()
    c = Squeeze (less, axes))");
  EXPECT_THAT(ops_of(prepare(load_text(by_shape))), ElementsAre("Neg"));
  EXPECT_THAT(run_all_ways(by_shape, list(floats({1, 2, 3}))), ElementsAre(-1, -2, -3));
}

TEST(If, RunsTheBranchThatTheDataChooses) {
  const std::string text = choose(R"(
    zero = Constant <value = float {0}> ()
    sum = ReduceSum <keepdims = 0> (x)
    c = Greater (sum, zero))");
  EXPECT_THAT(run_all_ways(text, list(floats({1, 2, 3}))), ElementsAre(3, 6, 9));
  EXPECT_THAT(run_all_ways(text, list(floats({1, 2, -5}))), ElementsAre(-1, -2, 5));
}

TEST(If, ChoosesByTheShapeThatARunHas) {
  const std::string text = concat(kHead, R"(main (float[N] x) => (float[M] y) {
    s = Shape (x)
    two = Constant <value = int64[1] {2}> ()
    less = Less (s, two)
    axes = Constant <value = int64[1] {0}> ()
    c = Squeeze (less, axes)
    y = If (c) <
      then_branch = then () => (float[N] t) { t = Abs (x) },
      else_branch = other () => (float[M] e) { e = Concat <axis = 0> (x, x) }
    >
  })");
  const Graph prepared = prepare(load_text(text));
  EXPECT_THAT(ops_of(prepared), testing::Contains("If"));
  EXPECT_THAT(run(prepared, list(floats({-1})), {{"x", {1}}}), ElementsAre(1));
  EXPECT_THAT(run(prepared, list(floats({-1, 2})), {{"x", {2}}}), ElementsAre(-1, 2, -1, 2));
}

TEST(If, MayHandOutWhatItCaptures) {
  const std::string text = concat(kHead, R"(main (float[2] x, bool c) => (float[2] y) {
    z = Abs (x)
    y = If (c) <
      then_branch = then () => (float[2] x) {},
      else_branch = other () => (float[2] z) {}
    >
  })");
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), Tensor::scalar<bool>(true))),
              ElementsAre(-1, 2));
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), Tensor::scalar<bool>(false))),
              ElementsAre(1, 2));
}

TEST(If, MayLieInAnIfThatCapturesThroughIt) {
  const std::string text = concat(kHead, R"(main (float[2] x, bool c, bool d) => (float[2] y) {
    z = Abs (x)
    y = If (c) <
      then_branch = then () => (float[2] t) {
        t = If (d) <
          then_branch = inner () => (float[2] tt) { tt = Add (x, z) },
          else_branch = other () => (float[2] te) { te = Sub (x, z) }
        >
      },
      else_branch = last () => (float[2] e) { e = Neg (z) }
    >
  })");
  const auto scalar = [](bool truth) { return Tensor::scalar<bool>(truth); };
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), scalar(true), scalar(true))),
              ElementsAre(0, 4));
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), scalar(true), scalar(false))),
              ElementsAre(-2, 0));
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), scalar(false), scalar(true))),
              ElementsAre(-1, -2));
}

TEST(If, IsRefusedWhenItsBranchesDiffer) {
  EXPECT_THAT(refusal(concat(kHead, R"(main (float[2] x, bool c) => (float[M] y) {
    y = If (c) <
      then_branch = then () => (float[2] t) { t = Abs (x) },
      else_branch = other () => (float[4] e) { e = Concat <axis = 0> (x, x) }
    >
  })")),
              HasSubstr("the data decides which branch runs, and output 0 is float32[4] of one and "
                        "float32[2] of the other"));
  EXPECT_THAT(refusal(concat(kHead, R"(main (float[2] x, bool c) => (float[2] y) {
    y = If (c) < then_branch = then () => (float[2] t) { t = Abs (x) } > })")),
              HasSubstr("else_branch"));
  EXPECT_THAT(refusal(concat(kHead, R"(main (float[2] x) => (float[2] y) {
    y = If (x) <
      then_branch = then () => (float[2] t) { t = Abs (x) },
      else_branch = other () => (float[2] e) { e = Neg (x) }
    > })")),
              HasSubstr("the condition is float32[2], expected one bool"));
}

// -- Loop --

std::string loop(const std::string& before, const std::string& body_end,
                 const std::string& inputs = "") {
  return concat(kHead, "main (float[2] x", inputs, ") => (float[2] y) {\n", before, R"(
    y = Loop (m, c, x) <
      body = body (int64 i, bool ci, float[2] s) => (bool co, float[2] so) {
        f = Cast <to = 1> (i)
        so = Add (s, f)
        )",
                body_end, R"(
      }
    >
  })");
}

TEST(Loop, IsUnrolledWhenItIsKnownHowOftenItRuns) {
  const std::string text =
      loop("m = Constant <value = int64 {4}> () c = Constant <value = bool {1}> ()",
           "co = Identity (ci)");
  const Graph prepared = prepare(load_text(text));
  EXPECT_THAT(ops_of(prepared), ElementsAre("Add", "Add", "Add", "Add"));
  EXPECT_TRUE(prepared.find_value("y"));
  EXPECT_THAT(run_all_ways(text, list(floats({10, 20}))), ElementsAre(16, 26));
}

TEST(Loop, IsUnrolledWhenItsConditionCanBeFollowed) {
  const std::string text =
      loop("m = Constant <value = int64 {100}> () c = Constant <value = bool {1}> ()",
           "three = Constant <value = int64 {3}> () co = Less (i, three)");
  EXPECT_THAT(ops_of(prepare(load_text(text))), ElementsAre("Add", "Add", "Add", "Add"));
  EXPECT_THAT(run_all_ways(text, list(floats({10, 20}))), ElementsAre(16, 26));
}

TEST(Loop, RunsUntilTheDataSaysStop) {
  const std::string text =
      loop("m = Constant <value = int64 {100}> () c = Constant <value = bool {1}> ()",
           R"(big = ReduceMax <keepdims = 0> (so)
                                   limit = Constant <value = float {25}> ()
                                   co = Less (big, limit))");
  EXPECT_THAT(ops_of(prepare(load_text(text))), ElementsAre("Loop"));
  EXPECT_THAT(run_all_ways(text, list(floats({10, 20}))), ElementsAre(16, 26));  // 20 21 23 26
  EXPECT_THAT(run_all_ways(text, list(floats({0, 0}))), ElementsAre(28, 28));
}

TEST(Loop, MayRunNoTimes) {
  const std::string text =
      loop("c = Constant <value = bool {1}> ()", "co = Identity (ci)", ", int64 m");
  EXPECT_THAT(run_all_ways(text, list(floats({10, 20}), Tensor::scalar<std::int64_t>(0))),
              ElementsAre(10, 20));
  EXPECT_THAT(run_all_ways(text, list(floats({10, 20}), Tensor::scalar<std::int64_t>(3))),
              ElementsAre(13, 23));
}

TEST(Loop, HandsOutStatesAsEachOther) {
  // Fibonacci: (a, b) -> (b, a + b).
  const std::string text = concat(kHead, R"(main (float[1] a, float[1] b, int64 m) => (float[1] y) {
    y, z = Loop (m, , a, b) <
      body = body (int64 i, bool ci, float[1] p, float[1] q) => (bool co, float[1] q, float[1] r) {
        r = Add (p, q)
        co = Identity (ci)
      }
    >
  })");
  EXPECT_THAT(run_all_ways(text, list(floats({0}), floats({1}), Tensor::scalar<std::int64_t>(10))),
              ElementsAre(55));
}

TEST(Loop, StacksTheSlicesOfAllIterations) {
  for (const int trips : {3, 3000}) {  // unrolled, and run again and again
    const std::string text = concat(kHead, R"(main (float[2] x) => (float[T, 2] all) {
      m = Constant <value = int64 {)",
                                    trips, R"(}> ()
      last, all = Loop (m, , x) <
        body = body (int64 i, bool ci, float[2] s) => (bool co, float[2] so, float[2] slice) {
          one = Constant <value = float {1}> ()
          so = Add (s, one)
          slice = Neg (so)
          co = Identity (ci)
        }
      >
    })");
    const std::vector<float> values = run_all_ways(text, list(floats({0, 10})));
    ASSERT_EQ(values.size(), 2U * static_cast<std::size_t>(trips));
    for (std::size_t i = 0; i < values.size(); i += 2) {
      ASSERT_EQ(values[i], -1.0F - static_cast<float>(i / 2));
      ASSERT_EQ(values[i + 1], -11.0F - static_cast<float>(i / 2));
    }
  }
}

TEST(Loop, MayLieInAFunctionAndGrowItsState) {
  const std::string text = with_function("main (float[1] x) => (float[4] y) { y = local.Grow (x) }",
                                         R"(<domain: "local", opset_import: ["" : 17]>
         Grow (v) => (w) {
           m = Constant <value = int64 {3}> ()
           w = Loop (m, , v) <
             body = body (int64 i, bool ci, float[N] s) => (bool co, float[K] so) {
               so = Concat <axis = 0> (s, v)
               co = Identity (ci)
             }
           >
         })");
  EXPECT_THAT(run_all_ways(text, list(floats({7}))), ElementsAre(7, 7, 7, 7));
}

TEST(Loop, IsRefusedWhenItsShapesDependOnData) {
  EXPECT_THAT(refusal(concat(kHead, R"(main (float[2] x, int64 m) => (float[T, 2] all) {
    last, all = Loop (m, , x) <
      body = body (int64 i, bool ci, float[2] s) => (bool co, float[2] so, float[2] slice) {
        so = Abs (s) slice = Neg (s) co = Identity (ci) } > })")),
              HasSubstr("the data decides how often it runs, and so the length of output 1"));
  EXPECT_THAT(refusal(concat(kHead, R"(main (float[1] x, int64 m) => (float[T] y) {
    y = Loop (m, , x) <
      body = body (int64 i, bool ci, float[N] s) => (bool co, float[K] so) {
        so = Concat <axis = 0> (s, s) co = Identity (ci) } > })")),
              HasSubstr("state 0 is float32[1] before an iteration and float32[2] after it"));
}

TEST(Loop, IsRefusedWhenItNeverEnds) {
  EXPECT_THAT(refusal(loop("c = Constant <value = bool {1}> () m = Constant <value = int64 "
                           "{4611686018427387904}> ()",
                           "co = Identity (ci)")),
              HasSubstr("did not end within 1000000 iterations"));
}

TEST(Loop, IsRefusedWhenItsBodyDoesNotFit) {
  const auto body = [](const std::string& text) {
    return refusal(concat(kHead, "main (float[2] x, int64 m) => (float[2] y) { y = Loop (m, , x) <",
                          " body = ", text, " > }"));
  };
  EXPECT_THAT(body("b (int64 i, bool ci) => (bool co) { co = Identity (ci) }"),
              HasSubstr("inputs of the body: found 2, expected 3"));
  EXPECT_THAT(body("b (int64 i, bool ci, float[2] s) => (bool co) { co = Identity (ci) }"),
              HasSubstr("outputs of the body: found 1, expected at least 2"));
  EXPECT_THAT(body("b (int64 i, bool ci, float[2] s) => (bool co, float[2] so) "
                   "{ co = Identity (ci) so = Add (s, later) }"),
              HasSubstr("reads 'later', which no node, input or initializer defines"));
  EXPECT_THAT(body("b (int64 i, bool ci, float[2] s) => (bool co, float[2] so) "
                   "{ co = Identity (ci) so = Add (s, y) }"),
              HasSubstr("is part of a cycle"));
}

// -- Scan --

TEST(Scan, WalksAlongAxesInBothDirections) {
  const std::string text = concat(kHead, R"(main (float[2] s, float[2, 3] x) => (float[2, 3] all) {
    last, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
                      scan_input_directions = [1], scan_output_directions = [1],
      body = body (float[2] a, float[2] e) => (float[2] b, float[2] o) {
        b = Add (a, e)
        o = Identity (b)
      }
    > (s, x)
  })");
  const std::vector<float> x = {1, 2, 3, 10, 20, 30};
  // Sums from the back, stored from the back.
  EXPECT_THAT(run_all_ways(text, list(floats({0, 0}), Tensor::of<float>({2, 3}, std::span(x)))),
              ElementsAre(6, 5, 3, 60, 50, 30));
  EXPECT_THAT(ops_of(prepare(load_text(text))), testing::Not(testing::Contains("Scan")));
}

// -- limits --

// Every level doubles the work of the one within it, if nothing bounds it.
TEST(Subgraphs, AreRefusedInTimeWhenTheyLieDeepInEachOther) {
  std::string inner = "so = Abs (s)";
  for (int depth = 0; depth < 14; ++depth) {
    const std::string d = to_text(static_cast<std::int64_t>(depth));
    inner =
        concat("m", d, " = Constant <value = int64 {2}> () so = Loop (m", d, ", , s) < body = b", d,
               " (int64 i", d, ", bool ci", d, ", float[2] s) => (bool co", d,
               ", float[2] so) { co", d, " = Identity (ci", d, ") ", inner, " } >");
  }
  const std::string message =
      refusal(concat(kHead, "main (float[2] s) => (float[2] so) { ", inner, " }"));
  EXPECT_THAT(message, testing::AnyOf(IsEmpty(), HasSubstr("too deep")));
}

TEST(Subgraphs, AreRefusedBeyondSixteenLevels) {
  std::string inner = "t = Abs (x)";
  for (int depth = 0; depth < 17; ++depth) {
    inner = concat("t = If (c) < then_branch = a", depth, " () => (float[2] t) { ", inner,
                   " }, else_branch = b", depth, " () => (float[2] t) { t = Neg (x) } >");
  }
  EXPECT_THAT(refusal(concat(kHead, "main (float[2] x, bool c) => (float[2] t) { ", inner, " }")),
              HasSubstr("subgraphs lie more than 16 deep in each other"));
}

TEST(Subgraphs, AreSearchedForUnknownOperators) {
  EXPECT_THAT(refusal(concat(kHead, R"(main (float[2] x, bool c) => (float[2] y) {
    y = If (c) <
      then_branch = then () => (float[2] t) { t = local.Odd (x) },
      else_branch = other () => (float[2] e) { e = local.Odd (x) }
    > })")),
              HasSubstr("local.Odd (2 nodes"));
}

}  // namespace
}  // namespace qtool
