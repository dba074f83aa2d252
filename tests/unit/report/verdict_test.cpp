#include "report/page/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace qtool {
namespace {

using testing::HasSubstr;
using testing::Not;

OutputError output_of(const char* name, double pooled_db) {
  OutputError error;
  error.name = name;
  error.sqnr_db = error.pooled_sqnr_db = pooled_db;
  return error;
}

// A network without classes on 50 images, whose ranges come from 100 others.
EvalResult compared_on_others() {
  EvalResult compared;
  compared.images = 50;
  compared.int8 = ModelScore{};
  compared.outputs = {output_of("a", 40.0), output_of("map", 24.0)};
  compared.overlap = Overlap{"image", 50, 0};
  return compared;
}

Advice advice_on(const EvalResult& compared) {
  return advise({.calibrated_on = 100, .integer_share = 1.0, .compared = compared});
}

Verdict verdict_on(const EvalResult& compared, const SuggestResult* tried = nullptr,
                   const std::vector<CommandWords>& commands = {}) {
  MakingCommands making;
  making.quantize = {"qtool", "quantize", "m.onnx", "--output", "m.int8.onnx"};
  return verdict_of(advice_on(compared), compared, tried, making, commands);
}

// The map of a text detector is almost zero for images without text.
TEST(Verdict, PrintsTheFigureThatIsJudged) {
  EvalResult compared = compared_on_others();
  compared.outputs.back().sqnr_db = -15.8;
  compared.outputs.back().pooled_interval = Interval{22.0, 26.0};
  const Verdict verdict = verdict_on(compared);
  EXPECT_EQ(verdict.name, "use");
  EXPECT_EQ(verdict.figure,
            "output 'map' has a pooled SQNR of 24.00 dB against FP32 (95 % confidence: 22.00 to "
            "26.00), on 50 images");
}

}  // namespace
}  // namespace qtool
