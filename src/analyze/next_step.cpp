#include "analyze/next_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/percent.h"
#include "base/text.h"
#include "compare/intervals.h"

namespace qtool {
namespace {

constexpr std::int64_t kFewSamples = 16;    // fewer are too few to set ranges
constexpr double kMinSqnr = 20.0;           // dB: the noise has a tenth of the signal's amplitude
constexpr std::int64_t kMinAgreement = 95;  // percent
constexpr std::int64_t kMaxTop1Drop = 1;    // points
constexpr const char* kTop1Option = "--max-top1-drop";
constexpr double kMinMeanIou = 0.9;
constexpr double kMinIntegerShare = 0.5;

// There must be something to have a share of.
double share_of(std::int64_t part, std::int64_t total) {
  QTOOL_CHECK(total > 0);
  return static_cast<double>(part) / static_cast<double>(total);
}

constexpr double kLeastShare = static_cast<double>(kMinAgreement) / 100.0;

// A figure of which more is better, and its interval on other samples. Without an interval the
// figure itself decides, unless it is of too few samples to have one.
struct Judged {
  double value = 0.0;
  std::optional<Interval> interval{};
  double limit = 0.0;
  std::int64_t samples = kLeastBootstrapSamples;
  bool is_share_of_samples = false;  // each sample has one answer, which is right or wrong

  [[nodiscard]] bool is_open() const { return !interval && samples < kLeastBootstrapSamples; }
  [[nodiscard]] double low() const { return interval ? interval->low : value; }
  [[nodiscard]] double high() const { return interval ? interval->high : value; }
  [[nodiscard]] bool is_good() const { return !is_open() && low() >= limit; }
  [[nodiscard]] bool is_bad() const { return !is_open() && high() < limit; }
};

// The shares of FP32's boxes that INT8 keeps, and that it does not add. FP32 must find a box.
struct JudgedBoxes {
  Judged kept;
  Judged fresh;
};

JudgedBoxes judged(const BoxMatch& match, std::int64_t samples) {
  JudgedBoxes boxes{{share_of(match.kept, match.fp32), match.kept_interval, kLeastShare, samples},
                    {1.0 - share_of(match.added(), match.fp32), {}, kLeastShare, samples}};
  if (match.added_interval) {
    boxes.fresh.interval = {1.0 - match.added_interval->high, 1.0 - match.added_interval->low};
  }
  return boxes;
}

// Of two figures, the one with the larger number decides about the advice.
int urgency(const Judged& figure) {
  if (figure.is_bad()) return 3;
  if (figure.is_good()) return 0;
  return figure.value < figure.limit ? 2 : 1;
}

// Whether a share has an interval, and the whole interval reaches the limit.
bool is_surely_good(const std::optional<AnswerShare>& share, double limit) {
  return share && share->interval && Judged{share->value, share->interval, limit}.is_good();
}

// The number of samples with which the interval of a figure would probably end at its limit; 0 if
// it is very large. Without an interval nothing says how many: few samples give a first one.
std::int64_t samples_to_ask(const Judged& figure, std::int64_t samples) {
  if (figure.is_open()) return kFewSamples;
  if (figure.is_share_of_samples) {
    const std::int64_t answers = wilson_answers(figure.value, figure.limit, kMostSamplesToAsk);
    return answers < kMostSamplesToAsk ? answers : 0;
  }
  const double needed =
      deciding_samples(figure.value, {figure.low(), figure.high()}, figure.limit, samples);
  return needed < static_cast<double>(kMostSamplesToAsk) ? static_cast<std::int64_t>(needed) : 0;
}

// The advice for a figure that is not good. `what`: the figure in words.
Advice doubtful(const Judged& figure, std::string what, CommandWords goal,
                const EvalResult& compared) {
  Advice advice{NextStep::kKeepNodes, std::move(what), std::move(goal)};
  advice.is_missed = figure.value < figure.limit;
  if (figure.is_bad()) return advice;
  advice.step = NextStep::kCompareMore;
  advice.samples = samples_to_ask(figure, compared.images);
  return advice;
}

CommandWords sqnr_goal() { return {"--min-sqnr", to_fixed(kMinSqnr, 0)}; }
CommandWords agreement_goal() { return {"--min-agreement", to_text(kMinAgreement)}; }

// Whether top-1 fell by more than one point and by more than chance explains.
bool loses_top1(const EvalResult& compared) {
  if (compared.labelled == 0 || !compared.int8) return false;
  const auto lost = static_cast<double>(compared.fp32.top1 - compared.int8->top1);
  const double points = static_cast<double>(kMaxTop1Drop) / 100.0;
  return lost > points * static_cast<double>(compared.labelled) && compared.top1_change_interval &&
         compared.top1_change_interval->high < 0.0;
}

// ` (76.4 to 99.1 %)`
std::string range_of(const Judged& share) { return in_brackets(percent_interval(share.interval)); }

// The purpose of the network decides what is judged: the boxes, pixels or classes that INT8 keeps,
// or else the noise of the outputs.
std::optional<Advice> accuracy_advice(const EvalResult& compared) {
  if (const std::optional<BoxMatch> match = compared.answers.judged_boxes()) {
    const JudgedBoxes boxes = judged(*match, compared.images);
    const Judged& kept = boxes.kept;
    const Judged& fresh = boxes.fresh;
    if (kept.is_good() && fresh.is_good()) return std::nullopt;
    const bool by_kept = urgency(kept) >= urgency(fresh);
    return doubtful(
        by_kept ? kept : fresh,
        to_text("INT8 keeps ", percent(kept.value, 1), range_of(kept), " of FP32's boxes and adds ",
                percent(1.0 - fresh.value, 1), " (at IoU ", match->iou, ")"),
        agreement_goal(), compared);
  }
  if (compared.answers.mask) {
    const MaskAgreement& mask = *compared.answers.mask;
    const Judged equal{share_of(mask.equal, mask.pixels), mask.equal_interval, kLeastShare,
                       compared.images};
    // If nearly all pixels have one class, the share of equal pixels says nothing about the other
    // classes.
    const Judged iou{mask.mean_iou().value_or(1.0), mask.mean_iou_interval, kMinMeanIou,
                     compared.images};
    if (equal.is_good() && iou.is_good()) return std::nullopt;
    if (urgency(equal) >= urgency(iou)) {
      return doubtful(
          equal,
          to_text(percent(equal.value, 1), range_of(equal), " of the pixels keep FP32's class"),
          agreement_goal(), compared);
    }
    return doubtful(
        iou, to_text("the mean IoU of the classes is ", percent(iou.value, 1), range_of(iou)),
        sqnr_goal(), compared);
  }
  if (loses_top1(compared)) {
    return Advice{NextStep::kKeepNodes,
                  to_text("top-1 falls from ", percent_of(compared.fp32.top1, compared.labelled),
                          " to ", percent_of(compared.int8->top1, compared.labelled)),
                  {kTop1Option, to_text(kMaxTop1Drop)},
                  true};
  }
  if (compared.judged_by_classes()) {
    const Judged equal{share_of(compared.agreement, compared.images), compared.agreement_interval(),
                       kLeastShare, compared.images, true};
    if (equal.is_good()) return std::nullopt;
    return doubtful(equal,
                    to_text("INT8 answers with FP32's class for ",
                            percent_of(compared.agreement, compared.images), range_of(equal),
                            " of the ", compared.noun, "s"),
                    agreement_goal(), compared);
  }
  const OutputError* worst = compared.worst_pooled_output();
  if (worst == nullptr) return std::nullopt;
  const Judged decibels{worst->pooled_sqnr_db, worst->pooled_interval, kMinSqnr, compared.images};
  if (decibels.is_good()) return std::nullopt;
  return doubtful(decibels,
                  to_text("output '", worst->name, "' has a pooled SQNR of ",
                          to_fixed(worst->pooled_sqnr_db, 2), " dB against FP32",
                          in_brackets(fixed_interval(decibels.interval, 2))),
                  sqnr_goal(), compared);
}

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

CommandWords search_goal(const Advice& advice, bool knows_classes) {
  const bool needs_classes = !advice.goal.empty() && advice.goal.front() == kTop1Option;
  return needs_classes && !knows_classes ? agreement_goal() : advice.goal;
}

bool calls_for_search(const Advice& advice) {
  const bool is_next = advice.step == NextStep::kKeepNodes || advice.step == NextStep::kCompareMore;
  return is_next && advice.is_missed;
}

bool keeps_enough(const KeptAnswers& answers) {
  if (const std::optional<BoxMatch>& match = answers.boxes) {
    if (match->fp32 == 0 || !match->kept_interval || !match->added_interval) return false;
    const JudgedBoxes boxes = judged(*match, kLeastBootstrapSamples);  // it has both intervals
    return boxes.kept.is_good() && boxes.fresh.is_good();
  }
  return is_surely_good(answers.pixels, kLeastShare) &&
         is_surely_good(answers.mean_iou, kMinMeanIou);
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
