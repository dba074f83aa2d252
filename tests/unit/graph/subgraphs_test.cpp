// Models with If, Loop and Scan: tests their results, the prepared graphs, the saved files, and the
// models that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "unit/text_models.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// -- If --

std::string branching(const std::string& condition, const std::string& inputs = "") {
  return to_text(kHead, "main (float[3] x", inputs, ") => (float[3] y) {\n", condition, R"(
    twice = Add (x, x)
    y = If (c) <
      then_branch = then () => (float[3] t) { t = Add (twice, x) },
      else_branch = other () => (float[3] e) { e = Neg (x) }
    >
  })");
}

TEST(If, GivesWayToTheBranchOfAKnownCondition) {
  const std::string fixed = branching("c = Constant <value = bool {1}> ()");
  EXPECT_THAT(ops_of(prepare(load_text(fixed))), ElementsAre("Add", "Add"));
  EXPECT_THAT(run_all_ways(fixed, list(floats({1, 2, 3}))), ElementsAre(3, 6, 9));
  const std::string by_shape = branching(R"(
    s = Shape (x)
    two = Constant <value = int64[1] {2}> ()
    less = Less (s, two)
    axes = Constant <value = int64[1] {0}> ()
    c = Squeeze (less, axes))");
  EXPECT_THAT(ops_of(prepare(load_text(by_shape))), ElementsAre("Neg"));
  EXPECT_THAT(run_all_ways(by_shape, list(floats({1, 2, 3}))), ElementsAre(-1, -2, -3));
}

TEST(If, RunsTheBranchThatTheDataChooses) {
  const std::string text = branching(R"(
    zero = Constant <value = float {0}> ()
    sum = ReduceSum <keepdims = 0> (x)
    c = Greater (sum, zero))");
  EXPECT_THAT(run_all_ways(text, list(floats({1, 2, 3}))), ElementsAre(3, 6, 9));
  EXPECT_THAT(run_all_ways(text, list(floats({1, 2, -5}))), ElementsAre(-1, -2, 5));
}

TEST(If, ChoosesByTheShapeThatARunHas) {
  const std::string text = to_text(kHead, R"(main (float[N] x) => (float[M] y) {
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
  const std::string text = to_text(kHead, R"(main (float[2] x, bool c) => (float[2] y) {
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
  const std::string text = to_text(kHead, R"(main (float[2] x, bool c, bool d) => (float[2] y) {
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
  EXPECT_THAT(refusal_of(to_text(kHead, R"(main (float[2] x, bool c) => (float[M] y) {
    y = If (c) <
      then_branch = then () => (float[2] t) { t = Abs (x) },
      else_branch = other () => (float[4] e) { e = Concat <axis = 0> (x, x) }
    >
  })")),
              HasSubstr("the data decides which branch runs, and output 0 is float32[4] of one and "
                        "float32[2] of the other"));
  EXPECT_THAT(refusal_of(to_text(kHead, R"(main (float[2] x, bool c) => (float[2] y) {
    y = If (c) < then_branch = then () => (float[2] t) { t = Abs (x) } > })")),
              HasSubstr("else_branch"));
  EXPECT_THAT(refusal_of(to_text(kHead, R"(main (float[2] x) => (float[2] y) {
    y = If (x) <
      then_branch = then () => (float[2] t) { t = Abs (x) },
      else_branch = other () => (float[2] e) { e = Neg (x) }
    > })")),
              HasSubstr("the condition is float32[2], expected one bool"));
}

// -- Loop --

std::string loop(const std::string& before, const std::string& body_end,
                 const std::string& inputs = "") {
  return to_text(kHead, "main (float[2] x", inputs, ") => (float[2] y) {\n", before, R"(
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

TEST(Loop, RunsNoTimesWhenTheNumberIsNegative) {
  for (const char* trips : {"-1", "-3000000000000000000", "-9223372036854775808"}) {
    const std::string text = loop(
        to_text("m = Constant <value = int64 {", trips, "}> () c = Constant <value = bool {1}> ()"),
        "co = Identity (ci)");
    EXPECT_THAT(ops_of(prepare(load_text(text))), testing::Not(testing::Contains("Loop"))) << trips;
    EXPECT_THAT(run_all_ways(text, list(floats({10, 20}))), ElementsAre(10, 20)) << trips;
  }
  const std::string text =
      loop("c = Constant <value = bool {1}> ()", "co = Identity (ci)", ", int64 m");
  EXPECT_THAT(run_all_ways(text, list(floats({10, 20}), Tensor::scalar<std::int64_t>(-7))),
              ElementsAre(10, 20));
}

TEST(Loop, HandsOutStatesAsEachOther) {
  // Fibonacci: (a, b) -> (b, a + b).
  const std::string text =
      to_text(kHead, R"(main (float[1] a, float[1] b, int64 m) => (float[1] y) {
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
  for (const int trips : {3, 3000}) {  // unrolled, and not unrolled
    const std::string text = to_text(kHead, R"(main (float[2] x) => (float[T, 2] all) {
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
  EXPECT_THAT(refusal_of(to_text(kHead, R"(main (float[2] x, int64 m) => (float[T, 2] all) {
    last, all = Loop (m, , x) <
      body = body (int64 i, bool ci, float[2] s) => (bool co, float[2] so, float[2] slice) {
        so = Abs (s) slice = Neg (s) co = Identity (ci) } > })")),
              HasSubstr("the data decides how often it runs, and so the length of output 1"));
  EXPECT_THAT(refusal_of(to_text(kHead, R"(main (float[1] x, int64 m) => (float[T] y) {
    y = Loop (m, , x) <
      body = body (int64 i, bool ci, float[N] s) => (bool co, float[K] so) {
        so = Concat <axis = 0> (s, s) co = Identity (ci) } > })")),
              HasSubstr("state 0 is float32[1] before an iteration and float32[2] after it"));
}

TEST(Loop, IsRefusedWhenItNeverEnds) {
  const std::string constants =
      "c = Constant <value = bool {1}> () m = Constant <value = int64 {4611686018427387904}> ()";
  EXPECT_THAT(refusal_of(loop(constants, "no = Not (ci) co = Not (no)")),
              HasSubstr("did not end within 1000000 iterations"));
  // If only the count can end the loop, it is refused before it runs.
  EXPECT_THAT(refusal_of(loop(constants, "co = Identity (ci)")),
              HasSubstr("runs 4611686018427387904 times, at most 1000000 are accepted"));
  Graph without_count = load_text(loop(constants, "co = Identity (ci)"));
  for (const NodeId id : without_count.nodes()) {
    if (without_count.node(id).is("Loop")) without_count.set_input(id, 0, kNoValue);
  }
  try {
    static_cast<void>(Executor(prepare(without_count)).compile({}));
    ADD_FAILURE() << "a loop without an end was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("runs without an end"));
  }
}

TEST(Loop, IsRefusedWhenItsBodyDoesNotFit) {
  const auto body = [](const std::string& text) {
    return refusal_of(to_text(kHead,
                              "main (float[2] x, int64 m) => (float[2] y) { y = Loop (m, , x) <",
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
  const std::string text = to_text(kHead, R"(main (float[2] s, float[2, 3] x) => (float[2, 3] all) {
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

// The copy of the graph with known shapes, which gives the lengths, then has values that the graph
// lacks.
TEST(Scan, FollowsALoopThatOnlyAPlanUnrolls) {
  const std::string text = to_text(kHead, R"(main (float[2] s, float[3, 2] x) => (float[2] y) {
    many = Constant <value = int64 {4001}> ()
    whole = Cast <to = 7> (s)
    sum = Loop (many, , whole) <
      body = body (int64 i, bool ci, int64[2] a) => (bool co, int64[2] b) {
        b = Add (a, i)
        co = Identity (ci)
      }
    >
    begin = Cast <to = 1> (sum)
    y = Scan <num_scan_inputs = 1,
      body = body (float[2] a, float[2] e) => (float[2] b) { b = Add (a, e) }
    > (begin, x)
  })");
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(run_all_ways(text, list(floats({7, -8}), Tensor::of<float>({3, 2}, std::span(x)))),
              ElementsAre(8002016, 8002004));  // 8002000 + 7 + 9 and 8002000 - 8 + 12
}

// -- limits --

// Without a bound, every level doubles the work of the level inside it.
TEST(Subgraphs, AreRefusedInTimeWhenTheyLieDeepInEachOther) {
  std::string inner = "so = Abs (s)";
  for (int depth = 0; depth < 14; ++depth) {
    const std::string d = to_text(static_cast<std::int64_t>(depth));
    inner =
        to_text("m", d, " = Constant <value = int64 {2}> () so = Loop (m", d, ", , s) < body = b",
                d, " (int64 i", d, ", bool ci", d, ", float[2] s) => (bool co", d,
                ", float[2] so) { co", d, " = Identity (ci", d, ") ", inner, " } >");
  }
  const std::string message =
      refusal_of(to_text(kHead, "main (float[2] s) => (float[2] so) { ", inner, " }"));
  EXPECT_THAT(message, testing::AnyOf(IsEmpty(), HasSubstr("too deep")));
}

// A tree of loops: each body has three loops, each of which runs up to 100000 times.
std::string tree_of_loops(int levels) {
  std::string inner = "t0 = Neg (s0) more0 = Not (stop0)";
  for (std::int64_t level = 1; level < levels; ++level) {
    const std::string below = to_text(level - 1);
    const auto within = [&](const std::string& from, const std::string& to) {
      return to_text(to, " = Loop (n, , ", from, ") < body = b", below, " (int64 i", below,
                     ", bool go", below, ", float[1] s", below, ") => (bool more", below,
                     ", float[1] t", below, ") { stop", below, " = Not (go", below, ") ", inner,
                     " } >\n");
    };
    const std::string own = to_text(level);
    inner = to_text(within("s" + own, "u" + own), within("u" + own, "v" + own),
                    within("v" + own, "t" + own), "more", own, " = Not (stop", own, ")");
  }
  return inner;
}

// The work of unrolling is bounded for all bodies together, and not for each body anew.
TEST(Subgraphs, ArePreparedInTimeHoweverManyHoldLoops) {
  const Graph graph = load_text(to_text(
      kHead, "main (float[1] s5) => (float[1] t5) { go5 = Constant <value = bool {1}> () ",
      "stop5 = Not (go5) n = Constant <value = int64 {100000}> ()\n", tree_of_loops(6), " }"));
  std::int64_t steps = 0;
  const StopCheck count = [&] {
    ++steps;
    return false;
  };
  try {
    static_cast<void>(prepare(graph, count));
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("too deep"));
  }
  EXPECT_LT(steps, 1 << 19);
}

TEST(Subgraphs, AreRefusedBeyondSixteenLevels) {
  std::string inner = "t = Abs (x)";
  for (int depth = 0; depth < 17; ++depth) {
    inner = to_text("t = If (c) < then_branch = a", depth, " () => (float[2] t) { ", inner,
                    " }, else_branch = b", depth, " () => (float[2] t) { t = Neg (x) } >");
  }
  EXPECT_THAT(
      refusal_of(to_text(kHead, "main (float[2] x, bool c) => (float[2] t) { ", inner, " }")),
      HasSubstr("subgraphs lie more than 16 deep in each other"));
}

TEST(Subgraphs, AreSearchedForUnknownOperators) {
  EXPECT_THAT(refusal_of(to_text(kHead, R"(main (float[2] x, bool c) => (float[2] y) {
    y = If (c) <
      then_branch = then () => (float[2] t) { t = local.Odd (x) },
      else_branch = other () => (float[2] e) { e = local.Odd (x) }
    > })")),
              HasSubstr("local.Odd (2 nodes"));
}

}  // namespace
}  // namespace qtool
