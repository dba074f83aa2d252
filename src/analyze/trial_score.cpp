#include "analyze/trial_score.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analyze/agreement.h"
#include "compare/intervals.h"

namespace qtool {

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

TrialScoreSums::TrialScoreSums(const AnswerOptions& answers) : agreement_(answers) {
  mask_only_.mask = answers.mask;
}

void TrialScoreSums::add(const TriedAnswers& one, std::size_t model, std::size_t outputs,
                         std::int64_t label) {
  sums_.resize(outputs);
  if (!one.agreement.empty()) add_agreement(one.agreement[model], one.boxes[model]);
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

void TrialScoreSums::add_agreement(const AnswerScorer& one, const std::vector<BoxCounts>& boxes) {
  agreement_ += one;
  boxes_.add(boxes);
  if (!mask_only_.mask) return;
  const AnswerAgreement image = one.result();
  pixels_.insert(pixels_.end(),
                 {static_cast<double>(image.mask->equal), static_cast<double>(image.mask->pixels)});
  const auto group = static_cast<std::size_t>(score_.images) % kJackknifeGroups;
  if (group >= mask_groups_.size()) mask_groups_.emplace_back(mask_only_);
  mask_groups_[group] += one;
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
  const AnswerAgreement agreement = agreement_.result();
  if (!agreement.boxes && !agreement.mask) return;
  score.agreement = agreement_of(agreement);
  score.boxes = agreement.judged_boxes();
  if (score.boxes) boxes_.write_intervals(agreement.boxes->judged().value(), *score.boxes);
  score.equal_pixels = equal_pixels_of(agreement);
  if (!score.equal_pixels) return;
  score.pixels_interval = bootstrap_interval(
      pixels_, 2, [](std::span<const double> sums) { return sums[0] / sums[1]; });
  if (const std::optional<double> mean_iou = agreement.mask->mean_iou()) {
    score.mean_iou = {*mean_iou, mean_iou_interval(*mean_iou)};
  }
}

std::optional<Interval> TrialScoreSums::mean_iou_interval(double mean_iou) const {
  std::vector<double> without;
  for (std::size_t left_out = 0; left_out < mask_groups_.size(); ++left_out) {
    AnswerScorer others(mask_only_);
    for (std::size_t group = 0; group < mask_groups_.size(); ++group) {
      if (group != left_out) others += mask_groups_[group];
    }
    without.push_back(others.result().mask->mean_iou().value_or(mean_iou));
  }
  const std::optional<Interval> interval = jackknife_interval(mean_iou, without);
  if (!interval) return std::nullopt;
  return Interval{std::max(interval->low, 0.0), std::min(interval->high, 1.0)};
}

}  // namespace qtool
