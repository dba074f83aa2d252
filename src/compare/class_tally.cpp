#include "compare/class_tally.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace qtool {

std::vector<ClassTally> tally_classes(std::span<const SampleResult> samples) {
  std::map<std::int64_t, ClassTally> classes;
  for (const SampleResult& sample : samples) {
    if (sample.label < 0) continue;
    ClassTally& tally = classes[sample.label];
    tally.label = sample.label;
    ++tally.images;
    for (std::size_t m = 0; m < tally.top1.size(); ++m) {
      tally.top1[m] += sample.top1[m].index == sample.label;
    }
  }
  std::vector<ClassTally> all;
  for (const auto& [label, tally] : classes) all.push_back(tally);
  return all;
}

std::vector<Confusion> confusions(std::span<const SampleResult> samples) {
  std::map<std::pair<std::int64_t, std::int64_t>, Confusion> pairs;
  for (const SampleResult& sample : samples) {
    if (sample.label < 0) continue;
    for (std::size_t m = 0; m < sample.top1.size(); ++m) {
      const std::int64_t answer = sample.top1[m].index;
      if (answer < 0 || answer == sample.label) continue;
      Confusion& confusion = pairs[{sample.label, answer}];
      confusion.label = sample.label;
      confusion.answer = answer;
      ++confusion.images[m];
    }
  }
  std::vector<Confusion> all;
  for (const auto& [pair, confusion] : pairs) all.push_back(confusion);
  const auto weight = [](const Confusion& confusion) {
    const auto [before, after] = confusion.images;
    return std::tuple(std::abs(after - before), std::max(before, after));
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Confusion& a, const Confusion& b) { return weight(a) > weight(b); });
  return all;
}

std::vector<const SampleResult*> flips(std::span<const SampleResult> samples) {
  std::vector<const SampleResult*> all;
  for (const SampleResult& sample : samples) {
    if (sample.flipped()) all.push_back(&sample);
  }
  std::stable_sort(all.begin(), all.end(), [](const SampleResult* a, const SampleResult* b) {
    return a->margin_lost > b->margin_lost;
  });
  return all;
}

double mean_sqnr_db(const SampleResult& sample) {
  if (sample.sqnr_db.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (const double db : sample.sqnr_db) sum += db;
  return sum / static_cast<double>(sample.sqnr_db.size());
}

std::vector<const SampleResult*> lowest_sqnr(std::span<const SampleResult> samples,
                                             std::size_t count) {
  std::vector<const SampleResult*> answered;
  for (const SampleResult& sample : samples) {
    if (!sample.sqnr_db.empty()) answered.push_back(&sample);
  }
  std::ranges::stable_sort(answered, {},
                           [](const SampleResult* one) { return mean_sqnr_db(*one); });
  answered.resize(std::min(answered.size(), count));
  return answered;
}

}  // namespace qtool
