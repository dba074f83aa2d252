#include "analyze/accuracy_limits.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/percent.h"
#include "base/text.h"
#include "compare/intervals.h"

namespace qtool {
namespace {

constexpr double kMinSqnr = 20.0;           // dB: the noise has a tenth of the signal's amplitude
constexpr std::int64_t kMinAgreement = 95;  // percent
constexpr std::int64_t kMaxTop1Drop = 1;    // points
constexpr const char* kTop1Option = "--max-top1-drop";
constexpr double kMinMeanIou = 0.9;

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

}  // namespace

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

CommandWords search_goal(const Advice& advice, bool knows_classes) {
  const bool needs_classes = !advice.goal.empty() && advice.goal.front() == kTop1Option;
  return needs_classes && !knows_classes ? agreement_goal() : advice.goal;
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

}  // namespace qtool
