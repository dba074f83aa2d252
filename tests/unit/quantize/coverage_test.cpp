#include "qtool/quantize/coverage.h"

#include <gtest/gtest.h>

namespace qtool {
namespace {

StepInfo step(const std::string& node, const std::string& op, std::int64_t macs, bool integer) {
  StepInfo info;
  info.node = node;
  info.op_type = op;
  info.macs = macs;
  info.integer = integer;
  return info;
}

TEST(Coverage, NamesTheConvolutionThatStayedRealAndItsReason) {
  const Coverage coverage =
      coverage_of({step("stem/conv", "Conv", 964, true), step("relu", "Relu", 0, false),
                   step("head/conv", "Conv", 36, false)});
  QuantizeReport report;
  report.nodes.push_back({"head/conv", "Conv", NodeRole::kFloat, "excluded by --exclude"});
  EXPECT_EQ(coverage_line(coverage, report),
            "int8 96.4 % of MACs, 1 of 2 convolutions; FP32: 'head/conv' (excluded by --exclude)");
  EXPECT_DOUBLE_EQ(coverage.integer_share(), 0.964);
}

TEST(Coverage, IsFullWhenEverythingRunsOnIntegers) {
  EXPECT_EQ(
      coverage_line(coverage_of({step("a", "Conv", 5, true), step("fc", "Gemm", 5, true)}), {}),
      "int8 100.0 % of MACs, 1 of 1 convolutions");
}

TEST(Coverage, NeverRoundsUpToFull) {
  const Coverage coverage =
      coverage_of({step("a", "Conv", 99999, true), step("fc", "Gemm", 1, false)});
  QuantizeReport report;
  report.nodes.push_back({"fc", "Gemm", NodeRole::kInteger, {}});
  EXPECT_EQ(coverage_line(coverage, report),
            "int8 99.9 % of MACs, 1 of 1 convolutions, 0 of 1 matrix products; FP32: 'fc' (no "
            "integer kernel for this Gemm)");
}

TEST(Coverage, CountsMatrixProductsWhereNothingIsConvolved) {
  EXPECT_EQ(coverage_line(coverage_of({step("fc", "Gemm", 1, true)}), {}),
            "int8 100.0 % of MACs, 1 of 1 matrix products");
  EXPECT_EQ(coverage_line(coverage_of(std::vector<StepInfo>{}), {}), "int8 0.0 % of MACs");
}

TEST(Coverage, NamesTheLargestStepsFirstAndCountsTheRest) {
  std::vector<StepInfo> steps;
  QuantizeReport report;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    steps.push_back(step(name, "Conv", static_cast<std::int64_t>(steps.size()) + 1, false));
    report.nodes.push_back({name, "Conv", NodeRole::kFloat, "r"});
  }
  EXPECT_EQ(coverage_line(coverage_of(steps), report),
            "int8 0.0 % of MACs, 0 of 7 convolutions; FP32: 'g' (r), 'f' (r), 'e' (r), 'd' (r), "
            "'c' (r) and 2 more");
}

}  // namespace
}  // namespace qtool
