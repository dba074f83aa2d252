#include "measure/output_noise.h"

#include <algorithm>

#include "measure/accumulated_error.h"
#include "measure/model_pair.h"

namespace qtool {

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

double noise_decibels(double noise) { return SqnrSums{1.0, noise}.decibels(); }

}  // namespace qtool
