// Networks that end in nodes that no plan can hold: tests the part that runs, the messages, and the
// nodes that a quantized model keeps.
#include "graph/tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"
#include "support/parse_onnx.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTailHead =
    "<ir_version: 8, opset_import: [\"\" : 17, \"TRT\" : 1]>\n"
    "main (float[1, 3, 4, 4] image) => ";

// A convolution that makes boxes and scores from each pixel.
constexpr const char* kNetwork = R"(
  <float[6, 3, 1, 1] w = {0.5, -0.2, 0.1, 0.3, 0.7, -0.6, -0.2, 0.4, 0.9,
                          0.2, 0.1, -0.3, 0.6, 0.5, 0.4, -0.1, 0.8, -0.7},
   int64[3] rows = {1, 6, 16}, int64[2] parts = {4, 2}> {
  c = Conv (image, w)
  flat = Reshape (c, rows)
  across, score = Split <axis = 1> (flat, parts)
  boxes = Transpose <perm = [0, 2, 1]> (across)
  scores = Sigmoid (score)
)";

std::string detector_text(const std::string& outputs, const std::string& end) {
  return to_text(kTailHead, outputs, kNetwork, end, "}");
}

const std::string kSelection = R"(
  most = Constant <value = int64[1] {5}> ()
  chosen = NonMaxSuppression (boxes, scores, most)
  box_axis = Constant <value = int64[1] {2}> ()
  one = Constant <value = int64 {2}> ()
  index = Gather <axis = 1> (chosen, one)
  found = Gather <axis = 1> (boxes, index)
)";

std::vector<std::string> port_names(const std::vector<PortInfo>& ports) {
  std::vector<std::string> names;
  for (const PortInfo& port : ports) names.push_back(port.name);
  return names;
}

std::string failure_of(const std::string& text) {
  try {
    const Executor executor(prepare(load_text(text)));
    executor.compile({});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Tail, IsLeftOutAndSaysSo) {
  const Executor executor(prepare(
      load_text(detector_text("(float[1, N, 4] found, float[1, 2, 16] scores)", kSelection))));
  ASSERT_TRUE(executor.left_out());
  EXPECT_THAT(executor.left_out()->reason,
              HasSubstr("(NonMaxSuppression): the data decides the shape of its result"));
  EXPECT_THAT(executor.left_out()->outputs, ElementsAre("found"));
  EXPECT_THAT(executor.left_out()->instead, ElementsAre("boxes"));
  EXPECT_THAT(port_names(executor.compile({})->outputs()), ElementsAre("scores", "boxes"));
}

TEST(Tail, MayBeAnOperatorOfAnotherRuntime) {
  const Executor executor(prepare(load_text(detector_text(
      "(int32[1, 1] count, float[1, 5, 4] found)",
      "count, found = TRT.EfficientNMS_TRT <max_output_boxes = 5> (boxes, scores)"))));
  ASSERT_TRUE(executor.left_out());
  EXPECT_THAT(executor.left_out()->reason, HasSubstr("qtool does not run this operator"));
  EXPECT_THAT(executor.left_out()->instead, ElementsAre("boxes", "scores"));
}

TEST(Tail, MayBeALoopThatTheDataCounts) {
  const auto selects = [](const std::string& times, const std::string& body) {
    const Executor executor(
        prepare(load_text(detector_text("(float[N, 4] slices)", to_text(times, R"(
  zero = Constant <value = int64[4] {0, 0, 0, 0}> ()
  sum, slices = Loop (times, , zero) <
    body = body (int64 i, bool ci, int64[4] s) => (bool co, int64[4] so, float[4] row) {
      co = Identity (ci)
      so = Identity (s)
      )",
                                                                        body, R"(
    }
  >
)")))));
    return executor.left_out() ? executor.left_out()->instead : std::vector<std::string>();
  };
  const std::string counted = R"(
  half = Constant <value = float {0.5}> ()
  high = Greater (scores, half)
  number = Cast <to = 7> (high)
  times = ReduceSum <keepdims = 0> (number)
)";
  const std::string row =
      "every = Gather <axis = 1> (boxes, i)  row = ReduceMax <axes = [0], "
      "keepdims = 0> (every)";
  EXPECT_THAT(selects(counted, row), testing::UnorderedElementsAre("times", "boxes"));
  const std::string fixed = "times = Constant <value = int64 {3}> ()";
  EXPECT_THAT(selects(fixed, row), IsEmpty());
  EXPECT_THAT(selects(fixed,
                      "found = NonZero (boxes)  real = Cast <to = 1> (found)  "
                      "row = ReduceMax <axes = [0, 1], keepdims = 0> (real)"),
              ElementsAre("boxes"));
}

// ONNX Runtime and other tools put a Q/DQ pair before each reader.
TEST(Tail, ShowsATensorOnceHoweverOftenItIsQuantized) {
  const Executor executor(prepare(load_text(detector_text("(float[1, N, 4] found)", R"(
  s = Constant <value = float {0.02}> ()
  z = Constant <value = uint8 {128}> ()
  q = QuantizeLinear (boxes, s, z)
  a = DequantizeLinear (q, s, z)
  b = DequantizeLinear (q, s, z)
  most = Constant <value = int64[1] {5}> ()
  chosen = NonMaxSuppression (a, scores, most)
  two = Constant <value = int64 {2}> ()
  index = Gather <axis = 1> (chosen, two)
  found = Gather <axis = 1> (b, index)
)"))));
  ASSERT_TRUE(executor.left_out());
  EXPECT_THAT(executor.left_out()->instead, ElementsAre("boxes", "scores"));
  EXPECT_THAT(port_names(executor.compile({})->outputs()), ElementsAre("boxes", "scores"));
}

TEST(Tail, ThatMultipliesWithWeightsIsNotLeftOut) {
  const std::string end = R"(
  strange = TRT.Attention (boxes)
  w2 = Constant <value = float[4, 2] {1, 2, 3, 4, 5, 6, 7, 8}> ()
  y = MatMul (strange, w2)
)";
  EXPECT_THAT(failure_of(detector_text("(float[1, 16, 2] y)", end)),
              HasSubstr("TRT.Attention (1 node"));
  EXPECT_THAT(failure_of(detector_text("(float[1, N, 2] y)", R"(
  hits = NonZero (scores)
  hit = Transpose <perm = [1, 0]> (hits)
  real = Cast <to = 1> (hit)
  w2 = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
  y = MatMul (real, w2)
)")),
              HasSubstr("depends on the data"));
}

TEST(Tail, IsNotWhatFollowsFromShapes) {
  const std::string text = detector_text("(float[1, 16, 4] y)", R"(
  shape = Shape (boxes)
  all = ConstantOfShape (shape)
  none = NonZero (all)
  back = Reshape (boxes, shape)
  count = Size (none)
  k = Cast <to = 1> (count)
  y = Add (back, k)
)");
  const Executor executor(prepare(load_text(text)));
  EXPECT_FALSE(executor.left_out());
  EXPECT_THAT(find_tail(executor.graph()).roots, IsEmpty());
}

}  // namespace
}  // namespace qtool
