#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/exclusions.h"
#include "graph/id_map.h"
#include "qtool/analyze/analyze.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The forecast for a model that leaves some nodes in FP32.
struct Forecast {
  double noise = 0.0;  ///< sum of the noise of all sources that are left, see ErrorSource::noise
  /// The work that a model on integers would not have, divided by the multiplications of the whole
  /// network: multiplications in FP32, elements that FP32 functions compute, and elements that are
  /// converted between FP32 and integers.
  double cost = 0.0;
  double integer_share = 0.0;  ///< share of the multiplications on integers
};

/// Makes forecasts from the results of analyze(). It assumes that errors add up. The forecasts are
/// deterministic, because they do not depend on measured times.
class MixForecast {
 public:
  /// `exclusions` must outlive the object. `analysis`: the result for the base model. Throws as
  /// compile() does.
  MixForecast(const Executor& fp32, std::span<const Shape> inputs, const Exclusions& exclusions,
              const AnalyzeResult& analysis);

  /// The forecast with these nodes in FP32. Cost: linear in the graph. Safe to use from several
  /// threads.
  [[nodiscard]] Forecast of(const NodeSet& excluded) const;
  /// The additional cost of keeping the tensors with these names in 16 bits.
  [[nodiscard]] double cost_of_wide(const std::vector<std::string>& tensors) const;

 private:
  [[nodiscard]] double elements(ValueId id) const;

  const Graph* graph_;
  const Exclusions* exclusions_;
  IdMap<ValueId, double> noise_of_value_;
  IdMap<NodeId, double> noise_of_node_;
  IdMap<NodeId, double> macs_;
  IdMap<ValueId, double> elements_;
  double total_macs_ = 0.0;
};

}  // namespace qtool
