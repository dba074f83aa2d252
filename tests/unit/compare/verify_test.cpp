#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/samples/samples.h"
#include "support/parse_onnx.h"
#include "support/tensor_folder.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A network in which `nodes` compute `y` from `x` [1, 4]. `best` is the index of the largest
// element of `y`.
Executor network(const std::string& nodes) {
  return Executor(
      prepare(load_text(to_text("<ir_version: 8, opset_import: [\"\": 17]>\n",
                                "main (float[1, 4] x) => (float[1, 4] y, int64[1, 1] best) {",
                                nodes, "best = ArgMax <axis = 1> (y) }"))));
}

class Verify : public testing::Test {
 protected:
  // Adds three samples, whose elements count up from 1, 2 and 3.
  Verify() {
    for (int i = 1; i <= 3; ++i) folder_.count(to_text(i, ".npy"), {1, 4}, static_cast<float>(i));
  }
  [[nodiscard]] Verification of(const std::string& int8, double min_sqnr_db) const {
    const Executor other = network(int8);
    const Samples samples(list_tensors(folder_.path(), input_specs(fp32_.graph())));
    return verify(fp32_, other, samples, {}, min_sqnr_db);
  }

  const TensorFolder folder_;
  const Executor fp32_ = network("y = Identity (x)");
};

// The noise of this model is a tenth of the signal: 20 dB.
constexpr const char* kLouder = "a = Constant <value = float {1.1}> () y = Mul (x, a)";

TEST_F(Verify, PassesAModelAboveTheLimit) {
  const Verification verified = of(kLouder, 19.9);
  EXPECT_EQ(verified.noun, "sample");
  EXPECT_EQ(verified.samples, 3);
  EXPECT_THAT(verified.faults, IsEmpty());
  ASSERT_EQ(verified.outputs.size(), 2U);
  EXPECT_NEAR(verified.outputs[0].sqnr_db, 20.0, 1e-4);
}

TEST_F(Verify, RunsTwentyOfManySamples) {
  TensorFolder many;
  for (int i = 1; i <= 21; ++i) many.count(to_text(i, ".npy"), {1, 4}, static_cast<float>(i));
  const Samples samples(list_tensors(many.path(), input_specs(fp32_.graph())));
  EXPECT_EQ(verify(fp32_, network(kLouder), samples, {}, 19.9).samples, 20);
}

TEST_F(Verify, NamesTheOutputBelowTheLimit) {
  EXPECT_THAT(
      of(kLouder, 20.1).faults,
      ElementsAre("output 'y' has a pooled SQNR of 20.00 dB against FP32, expected 20.1 or more"));
}

// FP32 gives almost zero for one of the samples, and INT8 an error of 1 % of the others.
TEST_F(Verify, JudgesAllSamplesTogether) {
  const TensorFolder quiet;
  for (int i = 1; i <= 3; ++i) quiet.count(to_text(i, ".npy"), {1, 4}, 100.0F);
  Tensor almost_zero(DType::kFloat32, {1, 4});
  std::ranges::fill(almost_zero.values<float>(), 1e-6F);
  quiet.add("4.npy", almost_zero);
  const Executor other = network("a = Constant <value = float {1.0}> () y = Add (x, a)");
  const Samples samples(list_tensors(quiet.path(), input_specs(fp32_.graph())));
  const Verification verified = verify(fp32_, other, samples, {}, kDefaultVerifyDb);
  EXPECT_LT(verified.outputs[0].sqnr_db, kDefaultVerifyDb);
  EXPECT_GT(verified.outputs[0].pooled_sqnr_db, 35.0);
  EXPECT_THAT(verified.faults, IsEmpty());
}

TEST_F(Verify, RefusesAModelWhoseOutputIsZero) {
  const std::string silent = "a = Constant <value = float {0.0}> () y = Mul (x, a)";
  EXPECT_THAT(of(silent, kDefaultVerifyDb).faults,
              ElementsAre(HasSubstr("'y' has a pooled SQNR of 0.00 dB")));
}

TEST_F(Verify, ShowsPlacesAndDoesNotJudgeThem) {
  // The largest element is the last one of `x`, and the first one of -x.
  const Verification verified = of("y = Neg (x)", -200.0);
  EXPECT_THAT(verified.faults, IsEmpty());
  EXPECT_TRUE(Verification::judges(verified.outputs[0]));
  EXPECT_FALSE(Verification::judges(verified.outputs[1]));
  EXPECT_EQ(verified.outputs[1].max_abs_error, 3.0);
  EXPECT_THAT(of("y = Neg (x)", 3.0).faults, ElementsAre(HasSubstr("output 'y'")));
}

TEST_F(Verify, RefusesAModelThatAnswersWithoutNumbers) {
  // The logarithm of 1 - x. For sample 1 it begins with minus infinity and continues with NaN.
  const std::string lost = "a = Constant <value = float {1.0}> () b = Sub (a, x) y = Log (b)";
  const Verification verified = of(lost, -200.0);
  EXPECT_THAT(verified.faults, ElementsAre(HasSubstr("NaN or infinite for 3 of 3 samples")));
}

// FP32 has no answer to the first sample and INT8 none to the last one: both miss one, and no
// sample is compared.
TEST_F(Verify, RefusesModelsThatAnswerDifferentSamples) {
  const TensorFolder two;
  two.count("1.npy", {1, 4}, 1.0F);
  two.count("2.npy", {1, 4}, -4.0F);
  const Executor of_positive = network("y = Log (x)");
  const Executor of_negative = network("n = Neg (x) y = Log (n)");
  const Samples samples(list_tensors(two.path(), input_specs(of_positive.graph())));
  EXPECT_THAT(verify(of_positive, of_negative, samples, {}, -200.0).faults,
              ElementsAre("none of 2 samples has finite outputs of both models"));
}

}  // namespace
}  // namespace qtool
