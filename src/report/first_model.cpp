#include "report/first_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/percent.h"
#include "report/render.h"
#include "report/shell.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kFewSamples = 16;    // fewer are too few to set ranges
constexpr double kMinSqnr = 20.0;           // dB: the noise has a tenth of the signal's amplitude
constexpr std::int64_t kMinAgreement = 95;  // percent
constexpr std::int64_t kMaxTop1Drop = 1;    // points
constexpr double kMinMeanIou = 0.9;
constexpr double kMinIntegerShare = 0.5;

double share_of(std::int64_t part, std::int64_t total) {
  return total > 0 ? static_cast<double>(part) / static_cast<double>(total) : 1.0;
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
  if (compared.answers.boxes && !compared.answers.boxes->matches.empty()) {
    const BoxMatch& match = compared.answers.boxes->matches.front();
    const double kept = share_of(match.kept, match.fp32);
    const double added = match.fp32 > 0 ? share_of(match.added(), match.fp32) : 0.0;
    if (agrees(kept) && agrees(1.0 - added)) return std::nullopt;
    advice.why =
        concat("INT8 keeps ", percent(kept, 1), " of FP32's boxes and adds ", percent(added, 1));
    return advice;
  }
  if (compared.answers.mask) {
    const MaskAgreement& mask = *compared.answers.mask;
    const double equal = share_of(mask.equal, mask.pixels);
    if (!agrees(equal)) {
      advice.why = concat(percent(equal, 1), " of the pixels keep FP32's class");
      return advice;
    }
    // If nearly all pixels have one class, the share of equal pixels says nothing about the other
    // classes.
    const double iou = mask.mean_iou().value_or(1.0);
    if (iou >= kMinMeanIou) return std::nullopt;
    advice.why = concat("the mean IoU of the classes is ", percent(iou, 1));
    advice.goal = sqnr_goal();
    return advice;
  }
  if (loses_top1(compared)) {
    advice.why = concat("top-1 falls from ", percent_of(compared.fp32.top1, compared.labelled),
                        " to ", percent_of(compared.int8->top1, compared.labelled));
    advice.goal = {"--max-top1-drop", to_text(kMaxTop1Drop)};
    return advice;
  }
  // With several outputs, one of them may look like class scores but be something else.
  if (compared.classes > 0 && (compared.labelled > 0 || compared.outputs.size() == 1)) {
    if (agrees(share_of(compared.agreement, compared.images))) return std::nullopt;
    advice.why =
        concat("INT8 answers with FP32's class for ",
               percent_of(compared.agreement, compared.images), " of the ", compared.noun, "s");
    return advice;
  }
  const OutputError* worst = worst_output(compared.outputs);
  if (worst == nullptr || worst->sqnr_db >= kMinSqnr) return std::nullopt;
  advice.why =
      concat("output '", worst->name, "' has ", to_fixed(worst->sqnr_db, 2), " dB against FP32");
  advice.goal = sqnr_goal();
  return advice;
}

std::string samples_text(std::int64_t count, const EvalResult& compared) {
  return concat(count, " ", compared.noun, count == 1 ? "" : "s");
}

std::string lines_of(const std::vector<CommandWords>& commands) {
  std::string text;
  for (const CommandWords& words : commands) text += concat("    ", shell_line(words), "\n");
  return text;
}

std::string_view sentence_of(NextStep step) {
  switch (step) {
    case NextStep::kNamePreprocessing:
      return "Say how the network's images are prepared, and begin again:";
    case NextStep::kCheckSamples:
      return "Correct --labels (without it, classes are the folders in the order of their "
             "names) or the preprocessing. What FP32 answers to one image:";
    case NextStep::kAddSamples:
      return "Begin again with 100 or more samples like those the network will meet:";
    case NextStep::kOtherTarget:
      return "Begin again for target qtool, which runs each of them as one table and scales the "
             "channels around it (other runtimes read the model and compute them in FP32):";
    case NextStep::kKeepNodes:
      return "Search the nodes that must stay in FP32 (it says so where that is not enough), and "
             "quantize without them:";
    case NextStep::kInspect:
      return "See which nodes stay in FP32, and why:";
    case NextStep::kUse:
      return "Use it: any ONNX runtime reads it. Both models' answers to one input:";
  }
  return "";
}

}  // namespace

Advice advise(const FirstModel& made) {
  const EvalResult& compared = made.compared;
  if (made.preprocess && !made.preprocess->assumed.empty()) {
    return {NextStep::kNamePreprocessing,
            concat("nothing says how images are prepared, so these figures are for an assumed ",
                   made.preprocess->assumed)};
  }
  if (compared.near_chance) {
    return {NextStep::kCheckSamples,
            concat("FP32 names ", percent_of(compared.fp32.top1, compared.labelled),
                   " of the images right, which guessing would do too")};
  }
  if (made.calibrated_on < kFewSamples) {
    return {NextStep::kAddSamples,
            concat("ranges were set by ", samples_text(made.calibrated_on, compared), " only")};
  }
  if (std::optional<Advice> advice = accuracy_advice(compared)) {
    if (made.functions_left > 0) {
      advice->step = NextStep::kOtherTarget;
      advice->why += concat("; ", made.functions_left,
                            " functions such as SiLU keep channels from ", "being equalized");
    }
    return *std::move(advice);
  }
  const double share = made.quantized.coverage.integer_share();
  if (share < kMinIntegerShare) {
    return {NextStep::kInspect, concat(percent(share, 1), " of the multiplications are integers")};
  }
  return {NextStep::kUse, "no figure is below its limit"};
}

std::string_view name_of(NextStep step) {
  switch (step) {
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

std::string text_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next, std::size_t width) {
  const EvalResult& compared = made.compared;
  std::string text = size_line(made.quantized);
  text += concat(made.quantized.coverage_line, "\n");
  if (made.quantized.verified) text += text_of(*made.quantized.verified);
  text += concat("calibrated on ", samples_text(made.calibrated_on, compared), ", compared on ",
                 made.held_out ? concat(compared.images, " others")
                               : std::string("the same: there are too few to hold some out"),
                 "\n\n", text_of(compared, width), "\nfiles:");
  for (const std::string& file : made.files) text += concat(" ", printable(file));
  text += concat("\nthe same in steps:\n", lines_of(made.commands));
  return concat(text, "next: ", advice.why, ". ", sentence_of(advice.step), "\n", lines_of(next));
}

std::string json_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next) {
  Json json{{"calibrated_on", made.calibrated_on},
            {"compared_on", made.compared.images},
            {"held_out", made.held_out},
            {"files", made.files},
            {"commands", made.commands},
            {"next", {{"step", name_of(advice.step)}, {"why", advice.why}, {"commands", next}}}};
  json["quantize"] = Json::parse(json_of(made.quantized));
  json["eval"] = Json::parse(json_of(made.compared, made.preprocess));
  return json_text(json);
}

}  // namespace qtool
