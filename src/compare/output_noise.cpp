#include "compare/output_noise.h"

#include <algorithm>

#include "compare/model_pair.h"

namespace qtool {

std::vector<std::size_t> picked(std::size_t count, std::size_t image) {
  std::vector<std::size_t> indices;
  if (count <= kPairsOfImage) {
    for (std::size_t i = 0; i < count; ++i) indices.push_back(i);
    return indices;
  }
  // The fractional parts of the multiples of the golden ratio fill an interval evenly. They do not
  // follow the period of rows or channels.
  constexpr double kGolden = 0.6180339887498949;
  for (std::size_t i = 0; i < kPairsOfImage; ++i) {
    const double place = kGolden * static_cast<double>(image * kPairsOfImage + i + 1);
    const double part = place - static_cast<double>(static_cast<std::int64_t>(place));
    indices.push_back(static_cast<std::size_t>(part * static_cast<double>(count)));
  }
  return indices;
}

void KeptOutputs::keep(std::span<const TensorView> outputs) {
  outputs_.clear();
  const FloatOutputs floats(outputs);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    outputs_.emplace_back(floats[i].begin(), floats[i].end());
  }
}

std::vector<SqnrSums> KeptOutputs::compare(std::span<const TensorView> outputs) const {
  std::vector<SqnrSums> sums;
  const FloatOutputs floats(outputs);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    sums.push_back(sqnr_sums(outputs_.at(i), floats[i]));
  }
  return sums;
}

std::vector<std::vector<ValuePair>> KeptOutputs::pairs(std::span<const TensorView> outputs,
                                                       std::size_t image) const {
  std::vector<std::vector<ValuePair>> pairs;
  const FloatOutputs floats(outputs);
  for (std::size_t o = 0; o < floats.size(); ++o) {
    const std::vector<float>& kept = outputs_.at(o);
    std::vector<ValuePair>& some = pairs.emplace_back();
    for (const std::size_t i : picked(std::min(kept.size(), floats[o].size()), image)) {
      some.push_back({kept[i], floats[o][i]});
    }
  }
  return pairs;
}

double noise_of(std::span<const SqnrSums> outputs) {
  double total = 0.0;
  for (const SqnrSums& output : outputs) {
    if (output.signal > 0.0) total += output.noise / output.signal;
  }
  return outputs.empty() ? 0.0 : total / static_cast<double>(outputs.size());
}

std::vector<SqnrSums> sums_without(std::span<const std::vector<SqnrSums>> groups,
                                   std::size_t left_out, std::size_t outputs) {
  std::vector<SqnrSums> rest(outputs);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (group == left_out) continue;
    for (std::size_t o = 0; o < outputs; ++o) rest[o] += groups[group][o];
  }
  return rest;
}

double noise_decibels(double noise) { return SqnrSums{1.0, noise}.decibels(); }

}  // namespace qtool
