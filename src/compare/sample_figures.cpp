#include "compare/sample_figures.h"

#include <algorithm>
#include <optional>

#include "compare/intervals.h"
#include "compare/metrics.h"

namespace qtool {
namespace {

std::optional<Interval> pooled_interval(std::span<const double> values) {
  return bootstrap_interval(values, 2, [](std::span<const double> sums) {
    return SqnrSums{sums[0], sums[1]}.decibels();
  });
}

// The share of FP32's boxes that value `k` of the sums counts.
std::optional<Interval> share_interval(std::span<const double> values, std::size_t k,
                                       std::int64_t part, std::int64_t all) {
  const std::optional<Interval> images = bootstrap_interval(
      values, 3, [&](std::span<const double> sums) { return sums[k] / sums[0]; });
  if (!images || part > all) return images;
  const std::optional<Interval> boxes = wilson_interval(part, all);
  if (!boxes) return std::nullopt;
  return Interval{std::min(images->low, boxes->low), std::max(images->high, boxes->high)};
}

}  // namespace

void BoxFigures::add(std::span<const BoxCounts> boxes) {
  counts_.resize(std::max(counts_.size(), boxes.size()));
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    const BoxCounts& counts = boxes[k];
    counts_[k].insert(counts_[k].end(),
                      {static_cast<double>(counts.fp32), static_cast<double>(counts.kept),
                       static_cast<double>(counts.int8 - counts.kept)});
  }
}

void BoxFigures::write_intervals(std::size_t k, BoxMatch& match) const {
  if (k >= counts_.size()) return;
  match.kept_interval = share_interval(counts_[k], 1, match.kept, match.fp32);
  match.added_interval = share_interval(counts_[k], 2, match.added(), match.fp32);
}

void SampleFigures::add(std::span<const ComparedOutput> outputs, std::span<const BoxCounts> boxes) {
  sqnr_db_.resize(std::max(sqnr_db_.size(), outputs.size()));
  sums_.resize(sqnr_db_.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    sqnr_db_[k].push_back(outputs[k].error.sqnr_db);
    sums_[k].insert(sums_[k].end(), {outputs[k].sums.signal, outputs[k].sums.noise});
  }
  boxes_.add(boxes);
}

void SampleFigures::add_top1(bool fp32, bool int8) {
  top1_.push_back((int8 ? 1.0 : 0.0) - (fp32 ? 1.0 : 0.0));
}

void SampleFigures::write_intervals(EvalResult& result) const {
  for (std::size_t k = 0; k < std::min(sqnr_db_.size(), result.outputs.size()); ++k) {
    result.outputs[k].sqnr_interval = mean_interval(sqnr_db_[k]);
    result.outputs[k].pooled_interval = pooled_interval(sums_[k]);
  }
  if (result.answers.boxes) {
    std::vector<BoxMatch>& matches = result.answers.boxes->matches;
    for (std::size_t k = 0; k < matches.size(); ++k) boxes_.write_intervals(k, matches[k]);
  }
  if (std::optional<TextAgreement>& texts = result.answers.texts) {
    texts->equal_interval = wilson_interval(texts->equal, texts->all);
  }
  if (result.int8 && result.labelled > 0) result.top1_change_interval = paired_interval(top1_);
}

}  // namespace qtool
