// What it costs that the results of products are rounded before functions.
#include "qtool/analyze/function_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/make_model.h"
#include "report/quantization.h"
#include "support/image_folder.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kPairsSide = 8;

/// Convolutions `a` and `b`, each with a SiLU behind it, and a convolution of their result.
Graph silu_layers() {
  Net net;
  std::string last = net.input("x", {1, 3, kPairsSide, kPairsSide});
  net.constant("a_w", random_floats({4, 3, 3, 3}, 1));
  net.constant("b_w", random_floats({4, 4, 3, 3}, 2));
  for (const std::string name : {"a", "b"}) {
    const std::string sum = net.op("Conv", name, {last, name + "_w"});
    const std::string gate = net.op("Sigmoid", name + "_sigmoid", {sum});
    last = net.op("Mul", name + "_silu", {sum, gate});
  }
  net.constant("c_w", random_floats({2, 4, 1, 1}, 3));
  net.output(net.op("Conv", "c", {last, "c_w"}));
  return prepare(std::move(net.graph));
}

class FunctionPairsTest : public testing::Test {
 protected:
  FunctionPairsTest() {
    run_.preprocess.mean = {127.5F};
    run_.preprocess.std = {64.0F};
  }
  [[nodiscard]] Executor int8_for(const std::string& target) const {
    Recipe recipe;
    recipe.method = "minmax";
    recipe.target = target;
    MakeOptions make;
    make.preprocess = run_.preprocess;
    return Executor(prepare(make_model(fp32_, recipe, folder_.list(), make).int8.graph));
  }

  ImageFolder folder_{kPairsSide, 4};
  Executor fp32_{silu_layers()};
  SampleRunOptions run_;
};

TEST_F(FunctionPairsTest, AgreeWithTheAnalysisOfTheModel) {
  const Executor int8 = int8_for("cpu");
  const std::optional<FunctionPairs> pairs = function_pairs(fp32_, int8, {}, folder_.list(), run_);
  ASSERT_TRUE(pairs.has_value());
  EXPECT_EQ(pairs->target, "qtool");
  EXPECT_EQ(pairs->samples, 4);
  ASSERT_EQ(pairs->costs.size(), 2U);
  EXPECT_GE(pairs->costs[0].share, pairs->costs[1].share);
  AnalyzeOptions options;
  options.preprocess = run_.preprocess;
  const AnalyzeResult analysis = analyze(fp32_, int8, folder_.list(), options);
  int compared = 0;
  for (const FunctionPairs::Cost& cost : pairs->costs) {
    EXPECT_TRUE(cost.tensor == "a_out" || cost.tensor == "b_out") << cost.tensor;
    for (const ErrorSource& source : analysis.sources) {
      if (source.kind != SourceKind::kActivation || source.name != cost.tensor) continue;
      EXPECT_NEAR(cost.share, source.share, 1e-9) << cost.tensor;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 2);
  EXPECT_THAT(text_of(*pairs, "image"),
              HasSubstr("2 tensors are rounded between a product and its function"));
  EXPECT_THAT(text_of(*pairs, "image"), HasSubstr("target qtool rounds none of them"));
}

// A function with an excluded node runs inside no product, for no target.
TEST_F(FunctionPairsTest, LeaveOutFunctionsInFp32) {
  const std::vector<std::string> excluded{"a_sigmoid"};
  const auto pairs = function_pairs(fp32_, int8_for("cpu"), excluded, folder_.list(), run_);
  ASSERT_TRUE(pairs.has_value());
  ASSERT_EQ(pairs->costs.size(), 1U);
  EXPECT_EQ(pairs->costs[0].tensor, "b_out");
}

TEST_F(FunctionPairsTest, AreNoneWhereFunctionsRunInside) {
  EXPECT_FALSE(function_pairs(fp32_, int8_for("qtool"), {}, folder_.list(), run_).has_value());
}

}  // namespace
}  // namespace qtool
