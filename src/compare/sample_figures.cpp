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

}  // namespace

void SampleFigures::add(std::span<const ComparedOutput> outputs) {
  sqnr_db_.resize(std::max(sqnr_db_.size(), outputs.size()));
  sums_.resize(sqnr_db_.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    sqnr_db_[k].push_back(outputs[k].error.sqnr_db);
    sums_[k].insert(sums_[k].end(), {outputs[k].sums.signal, outputs[k].sums.noise});
  }
}

void SampleFigures::add_top1(bool fp32, bool int8) {
  top1_.push_back((int8 ? 1.0 : 0.0) - (fp32 ? 1.0 : 0.0));
}

void SampleFigures::write_intervals(EvalResult& result) const {
  for (std::size_t k = 0; k < std::min(sqnr_db_.size(), result.outputs.size()); ++k) {
    result.outputs[k].sqnr_interval = mean_interval(sqnr_db_[k]);
    result.outputs[k].pooled_interval = pooled_interval(sums_[k]);
  }
  if (std::optional<TextAgreement>& texts = result.answers.texts) {
    texts->equal_interval = wilson_interval(texts->equal, texts->all);
  }
  if (result.int8 && result.labelled > 0) result.top1_change_interval = paired_interval(top1_);
}

}  // namespace qtool
