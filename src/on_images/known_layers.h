#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "graph/id_map.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// A hash of what each tensor of the graph is computed from: the operators and constants before it.
/// For graphs that rewrites made from one graph: attributes are not hashed, because no rewrite
/// changes them. Cost: linear in the graph and its constants.
IdMap<ValueId, std::uint64_t> sources_of(const Graph& graph);

/// Layers that were rounded on the same samples for other models of the same network. A layer that
/// has the same weights, scales and input by now needs not be rounded again: the models that are
/// tried for one network differ in few layers. Not safe for several threads at a time.
class KnownLayers {
 public:
  /// Where and how a layer is rounded.
  struct Place {
    std::string_view name;      ///< of the layer
    std::string_view rounding;  ///< the method
    std::uint64_t input;        ///< of sources_of(): the vectors are equal to the last bit
  };

  /// The integers of `layer`; nothing if they are not known.
  [[nodiscard]] std::optional<RoundedLayer> find(const Place& place, const Layer& layer) const;
  void add(const Place& place, const Layer& layer, const RoundedLayer& rounded);

 private:
  std::map<std::uint64_t, RoundedLayer> by_key_;  // a key is a hash of everything that is compared
};

}  // namespace qtool
