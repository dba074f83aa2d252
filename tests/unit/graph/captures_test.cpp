// Values that a subgraph reads from the graph around it are not inputs of its node, in any opset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/absent.h"
#include "support/places.h"
#include "unit/text_models.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;

class CapturesOfOpset : public ::testing::TestWithParam<int> {
 protected:
  static std::string text_of(const std::string& graph) {
    return to_text("<ir_version: 8, opset_import: [\"\": ", GetParam(), ", \"local\": 1]>\n",
                   graph);
  }
};

TEST_P(CapturesOfOpset, AreTakenByAnIf) {
  const auto text = [](const std::string& inputs, const std::string& condition) {
    return text_of(to_text("main (float[2] x", inputs, ") => (float[2] y) {", condition, R"(
      z = Abs (x)
      y = If (c) <
        then_branch = then () => (float[2] t) { t = Add (x, z) },
        else_branch = other () => (float[2] e) { e = Sub (x, z) }
      >
    })"));
  };
  const std::string known = text("", "c = Constant <value = bool {1}> ()");
  EXPECT_THAT(ops_of(prepare(load_text(known))), ElementsAre("Abs", "Add"));
  EXPECT_THAT(run_all_ways(known, list(floats({-1, 2}))), ElementsAre(0, 4));
  const std::string decided = text(", bool c", "");
  for (const bool truth : {true, false}) {
    const std::vector<float> wanted = truth ? std::vector<float>{0, 4} : std::vector<float>{-2, 0};
    EXPECT_EQ(run_all_ways(decided, list(floats({-1, 2}), Tensor::scalar<bool>(truth))), wanted);
  }
}

TEST_P(CapturesOfOpset, AreTakenByALoop) {
  const auto text = [](const std::string& inputs, const std::string& trips) {
    return text_of(to_text("main (float[2] x", inputs, ") => (float[2] y) {", trips, R"(
      z = Abs (x)
      y = Loop (m, , x) <
        body = body (int64 i, bool ci, float[2] s) => (bool co, float[2] so) {
          u = Add (s, z)
          so = Add (u, x)
          co = Identity (ci)
        }
      >
    })"));
  };
  EXPECT_THAT(run_all_ways(text("", "m = Constant <value = int64 {3}> ()"), list(floats({-1, 2}))),
              ElementsAre(-1, 14));
  EXPECT_THAT(
      run_all_ways(text(", int64 m", ""), list(floats({-1, 2}), Tensor::scalar<std::int64_t>(3))),
      ElementsAre(-1, 14));
}

TEST_P(CapturesOfOpset, AreTakenByAScan) {
  const std::string text = text_of(R"(main (float[2] s, float[3, 2] x) => (float[2] y) {
    z = Abs (s)
    y = Scan <num_scan_inputs = 1,
      body = body (float[2] a, float[2] e) => (float[2] b) { u = Add (a, e) b = Add (u, z) }
    > (s, x)
  })");
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(run_all_ways(text, list(floats({1, -1}), Tensor::of<float>({3, 2}, std::span(x)))),
              ElementsAre(13, 14));
}

TEST_P(CapturesOfOpset, AreTakenWithinAFunction) {
  const std::string opset = std::to_string(GetParam());
  const std::string text = text_of(to_text(R"(main (float[2] x, bool c) => (float[2] y) {
      y = local.Choose (x, c)
    }
    <domain: "local", opset_import: ["" : )",
                                           opset, R"(]>
    Choose (v, d) => (w) {
      z = Abs (v)
      w = If (d) <
        then_branch = then () => (float[2] t) { t = Add (v, z) },
        else_branch = other () => (float[2] e) { e = Sub (v, z) }
      >
    })"));
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), Tensor::scalar<bool>(false))),
              ElementsAre(-2, 0));
}

// An input that the call leaves out is missing in the bodies of the function too.
TEST_P(CapturesOfOpset, MayBeInputsThatACallLeavesOut) {
  const std::string opset = std::to_string(GetParam());
  const std::string text = text_of(to_text(R"(main (float[2] x, bool c) => (float[2] y) {
      low = Constant <value = float {0}> ()
      y = local.Bounded (x, c, low)
    }
    <domain: "local", opset_import: ["" : )",
                                           opset, R"(]>
    Bounded (v, d, low, high) => (w) {
      w = If (d) <
        then_branch = then () => (float[2] t) {
          t = If (d) <
            then_branch = inner () => (float[2] tt) { tt = Clip (v, low, high) },
            else_branch = other () => (float[2] te) { te = Neg (v) }
          >
        },
        else_branch = last () => (float[2] e) { e = Clip (v, low, high) }
      >
    })"));
  for (const bool truth : {true, false}) {
    EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), Tensor::scalar<bool>(truth))),
                ElementsAre(0, 2));
  }
}

TEST_P(CapturesOfOpset, AreTakenByAnIfWithinAnIf) {
  const std::string text = text_of(R"(main (float[2] x, bool c, bool d) => (float[2] y) {
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
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), Tensor::scalar<bool>(true),
                                      Tensor::scalar<bool>(false))),
              ElementsAre(-2, 0));
}

// Axes became an input in opset 18, and exporters share constants through the outer graph.
TEST_P(CapturesOfOpset, MayBeConstantsThatAnOperatorIsMadeFrom) {
  if (GetParam() < 18) return;  // ReduceMax has no input for its axes yet
  const std::string text = text_of(R"(main (float[2, 2] x, bool c) => (float[2] y) {
    axes = Constant <value = int64[1] {1}> ()
    y = If (c) <
      then_branch = then () => (float[2] t) { t = ReduceMax <keepdims = 0> (x, axes) },
      else_branch = other () => (float[2] e) { e = ReduceMin <keepdims = 0> (x, axes) }
    >
  })");
  const std::vector<float> x = {1, 2, 3, 4};
  for (const bool truth : {true, false}) {
    const std::vector<float> wanted = truth ? std::vector<float>{2, 4} : std::vector<float>{1, 3};
    EXPECT_EQ(run_all_ways(
                  text, list(Tensor::of<float>({2, 2}, std::span(x)), Tensor::scalar<bool>(truth))),
              wanted);
  }
}

// Only a dead node reads what no plan can compute: the If does not depend on it.
TEST_P(CapturesOfOpset, EndWithTheLastNodeThatReadsThem) {
  const std::string text = text_of(R"(main (float[2] x, bool c, bool d) => (float[2] y) {
    z = Abs (x)
    unknown = local.Unknown (x)
    y = If (c) <
      then_branch = then () => (float[2] t) {
        t = Add (x, z)
        dead = If (d) <
          then_branch = inner () => (float[2] tt) { tt = Add (x, unknown) },
          else_branch = other () => (float[2] te) { te = Sub (x, z) }
        >
      },
      else_branch = last () => (float[2] e) { e = Neg (z) }
    >
  })");
  EXPECT_THAT(run_all_ways(text, list(floats({-1, 2}), Tensor::scalar<bool>(true),
                                      Tensor::scalar<bool>(false))),
              ElementsAre(0, 4));
}

INSTANTIATE_TEST_SUITE_P(Opsets, CapturesOfOpset, ::testing::Values(16, 17, 18, 19, 20, 21));

TEST(Captures, AreTakenInTheFileOfATrial) {
  const std::filesystem::path path =
      std::filesystem::path(kSharedData) / "hostile" / "r7_if_captures_opset18.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << absent(path);
  const Graph prepared = prepare(load_onnx(path));
  const std::vector<float> x = {-1, 2, -3, 4, -5, 6};
  EXPECT_THAT(
      run(prepared, list(Tensor::scalar<bool>(true), Tensor::of<float>({2, 3}, std::span(x)))),
      ElementsAre(0, 2, 0, 4, 0, 6));
}

}  // namespace
}  // namespace qtool
