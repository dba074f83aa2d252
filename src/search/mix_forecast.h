#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/analyze/analyze.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// What a model is expected to do that leaves some nodes in FP32.
struct Forecast {
  double noise = 0.0;  ///< sum of the noise of all sources that are left, see ErrorSource::noise
  /// Work that integers would not have, over the multiplications of the whole network: FP32
  /// multiplications, elements that FP32 functions compute and that cross between both.
  double cost = 0.0;
  double integer_share = 0.0;  ///< of the multiplications
};

/// Forecasts from what analyze() measured, taking for granted that errors add up. Deterministic:
/// nothing in it is a time.
class MixForecast {
 public:
  /// `exclusions` must live as long. `analysis`: of the recipe's model. Throws as compile().
  MixForecast(const Executor& fp32, std::span<const Shape> inputs, const Exclusions& exclusions,
              const AnalyzeResult& analysis);

  /// With these nodes in FP32. Cost: linear in the graph. Safe to use from several threads.
  [[nodiscard]] Forecast of(const NodeSet& excluded) const;
  /// What it costs beside that to keep tensors of these names in 16 bits.
  [[nodiscard]] double cost_of_wide(const std::vector<std::string>& tensors) const;

 private:
  [[nodiscard]] double elements(ValueId id) const;

  const Graph* graph_;
  const Exclusions* exclusions_;
  std::vector<double> noise_of_value_;  // by ValueId
  std::vector<double> noise_of_node_;   // by NodeId
  std::vector<double> macs_;            // by NodeId
  std::vector<double> elements_;        // by ValueId
  double total_macs_ = 0.0;
};

}  // namespace qtool
