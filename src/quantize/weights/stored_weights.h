#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// Weights that a graph stores as int8, followed by a DequantizeLinear. Layers with the same
/// integers share one copy.
class StoredWeights {
 public:
  /// The constants and nodes are added to `graph`. Its values must have the numbers that they had
  /// when the layers were made. Adds its counts to `report`.
  StoredWeights(Graph& graph, QuantizeReport& report) : graph_(graph), report_(report) {}

  /// Stores the weights of a layer, and makes its node read them through a DequantizeLinear.
  void store(Layer layer);

 private:
  Graph& graph_;
  QuantizeReport& report_;
  // The key: weight, axis, scales and integers.
  std::map<std::tuple<ValueId, std::int64_t, std::vector<float>, std::uint64_t>, ValueId> stored_;
};

}  // namespace qtool
