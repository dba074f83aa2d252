#include "analyze/analysis_sums.h"

#include <algorithm>
#include <utility>

#include "compare/intervals.h"
#include "compare/output_noise.h"

namespace qtool {
namespace {

template <typename Sum>
void add_to(std::vector<Sum>& sums, const std::vector<Sum>& more) {
  sums.resize(std::max(sums.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

void append_to(std::vector<std::vector<ValuePair>>& pairs,
               const std::vector<std::vector<ValuePair>>& more) {
  pairs.resize(std::max(pairs.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) {
    pairs[i].insert(pairs[i].end(), more[i].begin(), more[i].end());
  }
}

}  // namespace

void AnalysisSums::add(SampleSums&& sample) {
  if (!sample.usable) return;
  const auto group = static_cast<std::size_t>(images_) % kJackknifeGroups;
  groups_.resize(std::max(groups_.size(), group + 1));
  add_to(groups_[group], sample.int8);
  ++images_;
  add_to(int8_, sample.int8);
  add_to(sources_, sample.sources);
  if (sample.compares_biases) add_to(with_bias_, sample.sources);
  add_to(weights_alone_, sample.weights_alone);
  add_to(roundings_, sample.roundings);
  add_to(accumulated_.tensors, sample.accumulated.tensors);
  append_to(accumulated_.pairs, sample.accumulated.pairs);
  append_to(output_pairs_, sample.output_pairs);
}

double AnalysisSums::noise() const { return noise_of(int8_); }

std::optional<Interval> AnalysisSums::interval_db() const {
  std::vector<double> without;
  for (std::size_t left_out = 0; left_out < groups_.size(); ++left_out) {
    without.push_back(noise_decibels(noise_of(sums_without(groups_, left_out, int8_.size()))));
  }
  return jackknife_interval(noise_decibels(noise()), without);
}

double AnalysisSums::noise_of_source(std::size_t source) const {
  return noise_of(std::span(sources_).subspan(source * int8_.size(), int8_.size()));
}

double AnalysisSums::part_of_weights(std::size_t node, std::size_t source) const {
  const std::size_t outputs = int8_.size();
  if (with_bias_.empty() || weights_alone_.empty()) return 1.0;
  const double both = noise_of(std::span(with_bias_).subspan(source * outputs, outputs));
  const double alone = noise_of(std::span(weights_alone_).subspan(node * outputs, outputs));
  return both > 0.0 ? alone / both : 1.0;
}

}  // namespace qtool
