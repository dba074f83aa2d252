#include "report/first_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/evaluation.h"
#include "report/samples_json.h"
#include "report/search.h"
#include "report/shell.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

std::string samples_text(std::int64_t count, const EvalResult& compared) {
  return to_text(count, " ", compared.noun, count == 1 ? "" : "s");
}

// The samples that the models were compared on, beside those that set the ranges.
std::string compared_text(const FirstModel& made) {
  if (made.too_few) return "the same: there are too few to hold some out";
  const EvalResult& compared = made.compared;
  if (!compared.overlap) return to_text(compared.images, ", which may also have set the ranges");
  if (made.held_out()) return to_text(compared.images, " others");
  return to_text(compared.images, ", of which ", compared.overlap->common,
                 " also set the ranges: not held out");
}

// The files that calibrating did not use, as far as the text of the comparison does not name them.
std::string unused_text(const FirstModel& made) {
  UnusedFiles unused = made.quantized.unused;
  if (unused.passed_over == made.compared.passed_over) unused.passed_over = {};
  if (made.too_few) unused.bad.clear();
  const std::string text = text_of(unused);
  return text.empty() ? text : to_text("of the files to calibrate on:\n", text);
}

// The search, and what it improved.
std::string search_text(const FirstSearch& searched, const std::string& noun) {
  const SearchResult& result = searched.result;
  return to_text("before the search: ", searched.before, "\nsearched ", to_fixed(result.seconds, 0),
                 " s for ", text_of(result.goals), ": ",
                 searched.changed() ? text_of(result.best, result.goals) : "found nothing better",
                 "\nthe goal of the search: ", goal_line(result, noun), "\n");
}

std::string_view verdict_words(GoalVerdict verdict) {
  switch (verdict) {
    case GoalVerdict::kReached:
      return "reached";
    case GoalVerdict::kUndecided:
      return "not decided";
    case GoalVerdict::kMissed:
      return "missed";
  }
  return "";
}

// Why the search that was asked for was not used. Empty if it was, or was begun and did not end.
std::string_view unused_search_reason(const FirstModel& made, const Advice& advice) {
  if (!made.asked_to_search || made.searched || calls_for_search(advice)) return "";
  switch (advice.step) {
    case NextStep::kOtherTarget:
      return "target qtool comes first, and may be enough; with --target cpu the search begins at "
             "once";
    case NextStep::kCompareMore:
      return "the figure reaches its limit, and only its interval does not";
    case NextStep::kInspect:
    case NextStep::kUse:
      return "no figure is below its limit";
    case NextStep::kKeepNodes:
    case NextStep::kFindObjects:
    case NextStep::kNamePreprocessing:
    case NextStep::kCheckSamples:
    case NextStep::kAddSamples:
      break;
  }
  return "without the next step, the figures do not say what to search for";
}

std::string lines_of(const std::vector<CommandWords>& commands) {
  std::string text;
  for (const CommandWords& words : commands) text += to_text("    ", shell_line(words), "\n");
  return text;
}

std::string preprocessing_sentence(const FirstModel& made) {
  if (!made.usual_for.empty()) {
    return to_text("Begin again with ", made.preprocess->asked_option(),
                   " as the network was trained; for ", made.usual_for, " this is usual:");
  }
  return "Say how the network's images are prepared, with --preprocess and a preset or a JSON "
         "file, and begin again. The presets:";
}

// Whether the usual preprocessing is proposed beside a next step that has another purpose.
bool proposes_usual_beside(NextStep step, const FirstModel& made) {
  return !made.usual_command.empty() && step != NextStep::kFindObjects &&
         step != NextStep::kNamePreprocessing;
}

// The own target, and what is known of the time of the model in another runtime.
std::string other_target_sentence(const FirstModel& made) {
  const std::string measured = made.times.empty() ? "; --also-time onnxruntime measures it"
                                                  : to_text(". Measured now, with target cpu, ",
                                                            medians_text(made.times.back()));
  return to_text("Begin again for ", own_target_text(), measured,
                 ". Where that is not enough, it searches what must stay in FP32 or in 16 bits:");
}

std::string sentence_of(NextStep step, const FirstModel& made) {
  switch (step) {
    case NextStep::kFindObjects:
      if (!made.usual_for.empty()) return preprocessing_sentence(made);
      return "Correct --boxes or how images are prepared (see qtool help presets), and begin "
             "again. What FP32 finds in one image:";
    case NextStep::kNamePreprocessing:
      return preprocessing_sentence(made);
    case NextStep::kCheckSamples:
      return "Correct --labels (without it, classes are the folders in the order of their "
             "names) or the preprocessing. What FP32 answers to one image:";
    case NextStep::kAddSamples:
      return "Begin again with 100 or more samples like those the network will meet, in the folder "
             "or list of --images or --inputs.";
    case NextStep::kOtherTarget:
      return other_target_sentence(made);
    case NextStep::kKeepNodes:
      if (!made.searched)
        return "Begin again, with a search of what must stay in FP32 or in 16 bits:";
      return to_text(after_search_text(*made.searched),
                     made.searched->needs_other_samples() ? "." : ":");
    case NextStep::kCompareMore:
      return "These are too few to tell whether it is good enough";
    case NextStep::kInspect:
      return "See which nodes stay in FP32, and why:";
    case NextStep::kUse:
      return "Use it: any ONNX runtime reads it. Both models' answers to one input:";
  }
  return "";
}

}  // namespace

std::string_view own_target_text() {
  return "target qtool, which runs each of them on integers and scales the channels behind it. "
         "That is fast in qtool. Other runtimes read the model, compute them and the convolutions "
         "before them in FP32 and will be slower than with target cpu";
}

std::string goal_line(const SearchResult& result, const std::string& noun) {
  const auto count = [&](std::int64_t images) {
    return to_text(images, " ", noun, images == 1 ? "" : "s");
  };
  const std::string own = to_text(result.reached ? "reached" : "not reached", " on its own ",
                                  count(result.best.images));
  if (result.held_out) {
    return to_text(own, ", ", verdict_words(result.held_out->verdict), " on ",
                   result.held_out->best.images, " held back");
  }
  if (result.held_back == 0) return own + ", none were held back";
  return to_text(own, ", not judged on ", result.held_back, " held back");
}

std::string after_search_text(const FirstSearch& searched) {
  if (searched.needs_other_samples()) {
    return "The model had reached the goal on the images of the search before it, so they do not "
           "show what is lost here. Begin again with more images like those the network will meet, "
           "in the folder or list of --images or --inputs";
  }
  if (searched.result.reached) {
    return "The search reached its goal on its own images, but not here. Search for half the noise "
           "(3 dB more) without a limit on integers, and quantize without what it finds";
  }
  if (searched.result.end == SearchEnd::kBudget) {
    return "The time of the search was used up. Begin again with more of it";
  }
  return "The search had nothing left to try with so many multiplications on integers. Search "
         "again without that limit, and quantize without what it finds";
}

FirstFigures figures_of(const FirstModel& made) {
  return {.calibrated_on = made.calibrated_on,
          .assumed = made.preprocess ? made.preprocess->assumed : "",
          .functions_left = made.functions_left,
          .integer_share = made.quantized.coverage.integer_share(),
          .compared = made.compared};
}

std::string text_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next, std::size_t width) {
  const EvalResult& compared = made.compared;
  std::string text = size_line(made.quantized);
  text += to_text(made.quantized.coverage_line, "\n");
  if (made.quantized.verified) text += text_of(*made.quantized.verified);
  text += to_text("calibrated on ", samples_text(made.calibrated_on, compared), ", compared on ",
                  compared_text(made), "\n", unused_text(made), "\n", text_of(compared, width),
                  text_of(made.times), "\n");
  if (made.searched) text += search_text(*made.searched, compared.noun);
  if (const std::string_view reason = unused_search_reason(made, advice); !reason.empty()) {
    text += to_text("--search was not used: ", reason, "\n");
  }
  text += "files:";
  for (const std::string& file : made.files) text += to_text(" ", printable(file));
  text += to_text("\nthe same in steps:\n", lines_of(made.commands));
  text += to_text("next: ", advice.why, ". ", sentence_of(advice.step, made));
  if (advice.step == NextStep::kCompareMore) {
    const std::string count =
        advice.samples > 0 ? to_text("about ", advice.samples, " ") : std::string("very many ");
    text += to_text(": compare on ", count, compared.noun, "s of the same kind",
                    made.all_compared ? ", more than are given here." : ":");
  }
  text += to_text("\n", lines_of(next));
  if (proposes_usual_beside(advice.step, made)) {
    text += to_text("For ", made.usual_for, ", ", shell_line(made.usual_options), " is usual:\n",
                    lines_of({made.usual_command}));
  }
  return text;
}

std::string json_of(const FirstModel& made, const Advice& advice,
                    const std::vector<CommandWords>& next) {
  Json json{{"calibrated_on", made.calibrated_on},
            {"compared_on", made.compared.images},
            {"held_out", made.held_out()},
            {"overlap", overlap_json(made.compared.overlap)},
            {"files", made.files},
            {"commands", made.commands},
            {"next", {{"step", name_of(advice.step)}, {"why", advice.why}, {"commands", next}}}};
  if (advice.samples > 0) json["next"]["samples"] = advice.samples;
  if (proposes_usual_beside(advice.step, made)) {
    json["next"]["usual"] = {{"detector", made.usual_for},
                             {"options", made.usual_options},
                             {"command", made.usual_command}};
  }
  if (made.searched) {
    json["search"] = Json::parse(json_of(made.searched->result, made.preprocess));
    json["search"]["before"] = made.searched->before;
  }
  if (const std::string_view reason = unused_search_reason(made, advice); !reason.empty()) {
    json["search_unused"] = reason;
  }
  json["quantize"] = Json::parse(json_of(made.quantized));
  json["eval"] = Json::parse(json_of(made.compared, made.preprocess, made.times));
  return json_text(json);
}

}  // namespace qtool
