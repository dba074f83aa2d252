#include "analyze/next_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analyze/agreement.h"
#include "base/check.h"
#include "base/percent.h"
#include "base/text.h"

namespace qtool {
namespace {

constexpr std::int64_t kFewSamples = 16;    // fewer are too few to set ranges
constexpr double kMinSqnr = 20.0;           // dB: the noise has a tenth of the signal's amplitude
constexpr std::int64_t kMinAgreement = 95;  // percent
constexpr std::int64_t kMaxTop1Drop = 1;    // points
constexpr double kMinMeanIou = 0.9;
constexpr double kMinIntegerShare = 0.5;

// There must be something to have a share of.
double share_of(std::int64_t part, std::int64_t total) {
  QTOOL_CHECK(total > 0);
  return static_cast<double>(part) / static_cast<double>(total);
}

bool agrees(double share) { return 100.0 * share >= static_cast<double>(kMinAgreement); }

CommandWords sqnr_goal() { return {"--min-sqnr", to_fixed(kMinSqnr, 0)}; }
CommandWords agreement_goal() { return {"--min-agreement", to_text(kMinAgreement)}; }

// Whether top-1 fell by more than one point and by more than chance explains. If the models give
// different answers to d images, the difference between their numbers of right answers has a
// standard deviation of at most sqrt(d).
bool loses_top1(const EvalResult& compared) {
  if (compared.labelled == 0 || !compared.int8) return false;
  const auto lost = static_cast<double>(compared.fp32.top1 - compared.int8->top1);
  const auto changed = static_cast<double>(compared.images - compared.agreement);
  const double points = static_cast<double>(kMaxTop1Drop) / 100.0;
  return lost > std::max(points * static_cast<double>(compared.labelled), 2.0 * std::sqrt(changed));
}

// The output of floats with the lowest SQNR. Outputs of integers, such as positions and classes,
// have no noise.
const OutputError* worst_output(const std::vector<OutputError>& outputs) {
  const OutputError* worst = nullptr;
  for (const OutputError& output : outputs) {
    if (!is_float(output.dtype)) continue;
    if (worst == nullptr || output.sqnr_db < worst->sqnr_db) worst = &output;
  }
  return worst;
}

// The purpose of the network decides what is judged: the boxes, pixels or classes that INT8 keeps,
// or else the noise of the outputs.
std::optional<Advice> accuracy_advice(const EvalResult& compared) {
  Advice advice{.step = NextStep::kKeepNodes, .why = {}};
  advice.goal = agreement_goal();
  if (const std::optional<BoxMatch> match = judged_boxes(compared.answers)) {
    const double kept = share_of(match->kept, match->fp32);
    const double added = share_of(match->added(), match->fp32);
    if (agrees(kept) && agrees(1.0 - added)) return std::nullopt;
    advice.why = to_text("INT8 keeps ", percent(kept, 1), " of FP32's boxes and adds ",
                         percent(added, 1), " (at IoU ", match->iou, ")");
    return advice;
  }
  if (compared.answers.mask) {
    const MaskAgreement& mask = *compared.answers.mask;
    const double equal = share_of(mask.equal, mask.pixels);
    if (!agrees(equal)) {
      advice.why = to_text(percent(equal, 1), " of the pixels keep FP32's class");
      return advice;
    }
    // If nearly all pixels have one class, the share of equal pixels says nothing about the other
    // classes.
    const double iou = mask.mean_iou().value_or(1.0);
    if (iou >= kMinMeanIou) return std::nullopt;
    advice.why = to_text("the mean IoU of the classes is ", percent(iou, 1));
    advice.goal = sqnr_goal();
    return advice;
  }
  if (loses_top1(compared)) {
    advice.why = to_text("top-1 falls from ", percent_of(compared.fp32.top1, compared.labelled),
                         " to ", percent_of(compared.int8->top1, compared.labelled));
    advice.goal = {"--max-top1-drop", to_text(kMaxTop1Drop)};
    return advice;
  }
  // With several outputs, one of them may look like class scores but be something else.
  if (compared.classes > 0 && (compared.labelled > 0 || compared.outputs.size() == 1)) {
    if (agrees(share_of(compared.agreement, compared.images))) return std::nullopt;
    advice.why =
        to_text("INT8 answers with FP32's class for ",
                percent_of(compared.agreement, compared.images), " of the ", compared.noun, "s");
    return advice;
  }
  const OutputError* worst = worst_output(compared.outputs);
  if (worst == nullptr || worst->sqnr_db >= kMinSqnr) return std::nullopt;
  advice.why =
      to_text("output '", worst->name, "' has ", to_fixed(worst->sqnr_db, 2), " dB against FP32");
  advice.goal = sqnr_goal();
  return advice;
}

std::string samples_text(std::int64_t count, const EvalResult& compared) {
  return to_text(count, " ", compared.noun, count == 1 ? "" : "s");
}

}  // namespace

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
  if (!figures.assumed.empty()) {
    return {NextStep::kNamePreprocessing,
            to_text("nothing says how images are prepared, so these figures are for an assumed ",
                    figures.assumed)};
  }
  if (compared.near_chance) {
    return {NextStep::kCheckSamples,
            to_text("FP32 names ", percent_of(compared.fp32.top1, compared.labelled),
                    " of the images right, which guessing would do too")};
  }
  if (figures.calibrated_on < kFewSamples) {
    return {NextStep::kAddSamples,
            to_text("ranges were set by ", samples_text(figures.calibrated_on, compared), " only")};
  }
  if (std::optional<Advice> advice = accuracy_advice(compared)) {
    if (figures.functions_left > 0) {
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
  return {NextStep::kUse, "no figure is below its limit"};
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
    case NextStep::kInspect:
      return "inspect";
    case NextStep::kUse:
      return "use";
  }
  return "";
}

}  // namespace qtool
