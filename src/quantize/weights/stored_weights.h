#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// Weights that a graph stores as int8 behind a DequantizeLinear, each once for all layers that
/// read the same integers.
class StoredWeights {
 public:
  /// `graph` gets the constants and nodes; its values must have the names they had when layers were
  /// made. Adds its counts to `report`.
  StoredWeights(Graph& graph, QuantizeReport& report) : graph_(graph), report_(report) {}

  /// Puts the weights of a layer behind a DequantizeLinear and has the node read that.
  void store(Layer layer);

 private:
  Graph& graph_;
  QuantizeReport& report_;
  // By weight, axis, scales and integers.
  std::map<std::tuple<ValueId, std::int64_t, std::vector<float>, std::uint64_t>, ValueId> stored_;
};

}  // namespace qtool
