#include "analyze/next_step.h"

#include <optional>
#include <utility>

#include "analyze/accuracy_limits.h"
#include "base/percent.h"
#include "base/text.h"

namespace qtool {
namespace {

constexpr double kMinIntegerShare = 0.5;

std::string samples_text(std::int64_t count, const EvalResult& compared) {
  return to_text(count, " ", compared.noun, count == 1 ? "" : "s");
}

// The advice on the figures themselves, for images that were prepared rightly.
Advice advice_on_results(const FirstFigures& figures) {
  const EvalResult& compared = figures.compared;
  if (compared.near_chance) {
    return {NextStep::kCheckSamples,
            to_text("FP32 names ", percent_of(compared.fp32.top1, compared.labelled),
                    " of the images right, which guessing would do too")};
  }
  if (figures.calibrated_on && *figures.calibrated_on < kFewSamples) {
    return {
        NextStep::kAddSamples,
        to_text("ranges were set by ", samples_text(*figures.calibrated_on, compared), " only")};
  }
  if (std::optional<Advice> advice = accuracy_advice(compared)) {
    if (advice->step == NextStep::kKeepNodes && figures.functions_left > 0) {
      advice->step = NextStep::kOtherTarget;
      advice->why += to_text("; ", figures.functions_left,
                             " functions such as SiLU keep channels from ", "being equalized");
    }
    return *std::move(advice);
  }
  if (figures.integer_share < kMinIntegerShare) {
    return {NextStep::kInspect,
            to_text(percent(figures.integer_share, 1), " of the multiplications are integers")};
  }
  std::string why = "no figure is below its limit";
  if (const std::optional<Overlap>& overlap = compared.overlap; overlap && overlap->common > 0) {
    why += to_text(", but ", overlap->common, " of the ", samples_text(overlap->samples, compared),
                   " to compare on also set the ranges");
  }
  return {NextStep::kUse, std::move(why)};
}

}  // namespace

std::string option_for_fields(std::string_view fields) {
  if (fields.find(',') != std::string_view::npos) return "--preprocess";
  return fields == "resize" ? "--resize or --letterbox" : to_text("--", fields);
}

Advice advise(const FirstFigures& figures) {
  const EvalResult& compared = figures.compared;
  if (compared.finds_nothing()) {
    std::string why =
        to_text("FP32 finds no box of score ", compared.answers.boxes->matches.front().score,
                " or more in any of ", samples_text(compared.images, compared),
                ", so that nothing was compared");
    if (!figures.assumed.empty()) {
      why += to_text("; nothing says how images are prepared, and the ", figures.assumed,
                     " may be wrong");
    }
    return {NextStep::kFindObjects, std::move(why)};
  }
  // Wrong values of several fields make all figures useless. A single one, such as the order of the
  // channels, changes them little.
  if (figures.assumed.find(',') != std::string::npos) {
    return {NextStep::kNamePreprocessing,
            to_text("nothing says how images are prepared, so these figures are for an assumed ",
                    figures.assumed)};
  }
  Advice advice = advice_on_results(figures);
  if (!figures.assumed.empty()) {
    advice.why += to_text("; nothing says the ", figures.assumed,
                          " of the images, and another may be right: give ",
                          option_for_fields(figures.assumed));
  }
  return advice;
}

bool calls_for_search(const Advice& advice) {
  const bool is_next = advice.step == NextStep::kKeepNodes || advice.step == NextStep::kCompareMore;
  return is_next && advice.is_missed;
}

std::string_view name_of(NextStep step) {
  switch (step) {
    case NextStep::kFindObjects:
      return "find_objects";
    case NextStep::kNamePreprocessing:
      return "name_preprocessing";
    case NextStep::kCheckSamples:
      return "check_samples";
    case NextStep::kAddSamples:
      return "add_samples";
    case NextStep::kOtherTarget:
      return "other_target";
    case NextStep::kKeepNodes:
      return "keep_nodes";
    case NextStep::kCompareMore:
      return "compare_more";
    case NextStep::kInspect:
      return "inspect";
    case NextStep::kUse:
      return "use";
  }
  return "";
}

}  // namespace qtool
