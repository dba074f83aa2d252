#include "measure/output_noise.h"

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

double noise_of(std::span<const SqnrSums> outputs) {
  double total = 0.0;
  for (const SqnrSums& output : outputs) {
    if (output.signal > 0.0) total += output.noise / output.signal;
  }
  return outputs.empty() ? 0.0 : total / static_cast<double>(outputs.size());
}

double noise_decibels(double noise) { return SqnrSums{1.0, noise}.decibels(); }

}  // namespace qtool
