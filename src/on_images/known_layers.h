#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// Layers that were rounded on the same samples for other models of the same network. A layer that
/// has the same weights, scales and input by now needs not be rounded again: the models that are
/// tried for one network differ in few layers. Not safe for several threads at a time.
class KnownLayers {
 public:
  /// The integers of `layer`, which is rounded by the method `rounding`; nothing if they are not
  /// known. The moments and samples of the input are not compared. A rewrite that changes an input
  /// changes the weights, the bias or the means of the input, too. So the inputs of such layers
  /// differ by the rounding of floats, which moves the result by hundredths of a decibel.
  [[nodiscard]] std::optional<RoundedLayer> find(std::string_view name, const Layer& layer,
                                                 std::string_view rounding) const;
  void add(std::string_view name, const Layer& layer, std::string_view rounding,
           const RoundedLayer& rounded);

 private:
  std::map<std::uint64_t, RoundedLayer> by_key_;  // a key is a hash of everything that is compared
};

}  // namespace qtool
