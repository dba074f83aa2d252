#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/quantize/quantize.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {
namespace {

constexpr std::int64_t kMostVerified = 20;  // enough to see that a model is broken

// The pairs of weights beyond the limit that the model itself names.
std::int64_t pairs_beyond_own_limit(const Executor& int8) {
  const auto& metadata = int8.whole_graph().info.metadata;
  const auto limit = metadata.find(std::string(kPairsKey));
  const auto target = metadata.find(std::string(kTargetKey));
  if (limit == metadata.end() || target == metadata.end()) return 0;
  return count_large_pairs(int8.graph(), find_target(target->second),
                           static_cast<std::int32_t>(std::clamp<std::int64_t>(
                               parse_int(limit->second, kPairsKey), 0, 32767)));
}

}  // namespace

Verification verify(const Executor& fp32, const Executor& int8, const Samples& samples,
                    const EvalOptions& options, double min_sqnr_db) {
  EvalOptions run = options;
  run.labels = LabelSource::kUnused;
  run.answers = {};
  EvalResult compared =
      evaluate(fp32, &int8, samples.spread(std::min(kMostVerified, samples.size())), run);
  Verification result;
  result.noun = std::move(compared.noun);
  result.samples = compared.images;
  result.min_sqnr_db = min_sqnr_db;
  result.bad = std::move(compared.bad);
  const Unanswered& lost = compared.int8->unanswered;
  if (lost.images > compared.fp32.unanswered.images) {
    result.faults.push_back(to_text("the INT8 model's outputs are NaN or infinite for ",
                                    lost.images, " of ", result.samples, " ", result.noun,
                                    "s, the first: '", lost.first.string(), "'"));
  } else if (compared.fp32.unanswered.images == result.samples) {
    result.faults.push_back(to_text("the FP32 model's outputs are NaN or infinite for all of ",
                                    result.samples, " ", result.noun, "s"));
  }
  if (const std::int64_t large = pairs_beyond_own_limit(int8); large > 0) {
    result.faults.push_back(to_text(large, " sums of two products may saturate, although the ",
                                    "model says that its pairs of weights are limited"));
  }
  const bool nothing_compared =
      std::ranges::any_of(compared.outputs, Verification::judges) &&
      std::ranges::all_of(compared.outputs, [](const OutputError& output) {
        return !Verification::judges(output) || std::isnan(output.sqnr_db);
      });
  if (nothing_compared && result.faults.empty()) {
    result.faults.push_back(to_text("none of ", result.samples, " ", result.noun,
                                    "s has finite outputs of both models"));
  }
  for (OutputError& output : compared.outputs) {
    // The SQNR is NaN if no sample was compared, which is reported above.
    if (output.pooled_sqnr_db < min_sqnr_db && Verification::judges(output)) {
      result.faults.push_back(to_text(
          "output '", output.name, "' has a pooled SQNR of ", to_fixed(output.pooled_sqnr_db, 2),
          " dB against FP32, expected ", to_text(min_sqnr_db), " or more"));
    }
    result.outputs.push_back(std::move(output));
  }
  return result;
}

}  // namespace qtool
