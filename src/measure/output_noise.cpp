#include "measure/output_noise.h"

namespace qtool {

void KeptOutputs::keep(std::span<const TensorView> outputs) {
  outputs_.clear();
  for (const TensorView& output : outputs) {
    const std::span<const float> values = output.values<float>();
    outputs_.emplace_back(values.begin(), values.end());
  }
}

std::vector<SqnrSums> KeptOutputs::compare(std::span<const TensorView> outputs) const {
  std::vector<SqnrSums> sums;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    sums.push_back(sqnr_sums(outputs_.at(i), outputs[i].values<float>()));
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
