#include "analyze/trial_score.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analyze/agreement.h"
#include "compare/intervals.h"

namespace qtool {

double worst_db(const TrialScore& score) {
  return score.sqnr_db.empty() ? 0.0 : *std::ranges::min_element(score.sqnr_db);
}

KeptAnswers kept_answers(const TrialScore& score) {
  KeptAnswers kept;
  kept.boxes = score.boxes;
  if (score.equal_pixels) kept.pixels = {*score.equal_pixels, score.pixels_interval};
  kept.mean_iou = score.mean_iou;
  if (score.agreement && !score.boxes && !score.equal_pixels) {
    const double equal = *score.agreement * static_cast<double>(score.images);
    kept.classes = {*score.agreement, wilson_interval(std::llround(equal), score.images)};
  }
  return kept;
}

bool reads_agreement(const AnswerOptions& answers) { return answers.boxes || answers.mask; }

TrialScoreSums::TrialScoreSums(const AnswerOptions& answers, std::size_t samples,
                               std::int64_t most_class_counts)
    : agreement_(answers) {
  if (reads_agreement(answers)) counts_.emplace(samples, most_class_counts);
}

void TrialScoreSums::add(const TriedAnswers& one, std::size_t model, std::size_t outputs,
                         std::int64_t label) {
  sums_.resize(outputs);
  if (!one.agreement.empty()) {
    agreement_ += one.agreement[model];
    if (counts_) counts_->keep(static_cast<std::size_t>(score_.images), one.counts[model]);
  }
  ++score_.images;
  if (label >= 0) ++score_.labelled;
  if (label >= 0 && one.fp32_class == label) ++score_.fp32_top1;
  if (label >= 0 && one.class_of[model] == label) ++score_.top1;
  if (one.fp32_class >= 0) ++answered_;
  if (one.fp32_class >= 0 && one.class_of[model] == one.fp32_class) ++equal_;
  if (!one.fp32) return;
  if (!one.answered[model]) {
    ++score_.unanswered;
    return;
  }
  ++compared_;
  for (std::size_t o = 0; o < outputs; ++o) sums_[o] += one.sums[model * outputs + o];
}

TrialScore TrialScoreSums::score(std::size_t outputs) const {
  TrialScore score = score_;
  score.sqnr_db.assign(outputs, -kSqnrLimitDb);
  if (answered_ > 0) {
    score.agreement = static_cast<double>(equal_) / static_cast<double>(score.images);
  }
  for (std::size_t o = 0; compared_ > 0 && o < outputs; ++o) {
    score.sqnr_db[o] = sums_[o].decibels();
  }
  write_agreement(score);
  return score;
}

void TrialScoreSums::write_agreement(TrialScore& score) const {
  AnswerAgreement agreement = agreement_.result();
  if (!agreement.boxes && !agreement.mask) return;
  score.agreement = agreement_of(agreement);
  score.boxes = agreement.judged_boxes();
  if (score.boxes && counts_) {
    counts_->write_intervals(agreement.boxes->judged().value(), *score.boxes);
  }
  score.equal_pixels = equal_pixels_of(agreement);
  if (!score.equal_pixels) return;
  MaskAgreement& mask = *agreement.mask;
  if (counts_) counts_->write_intervals(mask);
  score.pixels_interval = mask.equal_interval;
  if (const std::optional<double> mean_iou = mask.mean_iou()) {
    score.mean_iou = {*mean_iou, mask.mean_iou_interval};
  }
}

}  // namespace qtool
