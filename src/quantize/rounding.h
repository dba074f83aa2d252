#pragma once

#include <span>
#include <string_view>

#include "quantize/layer.h"

namespace qtool {

/// A rounding method: the integers of a layer whose scales are chosen, int8 in the shape of its
/// weights, within the limits of its scheme. It sees the whole layer and what is known about its
/// input. The result depends on nothing else.
using Rounding = Tensor (*)(const Layer& layer);

/// A row of the list of rounding methods.
struct RoundingInfo {
  std::string_view name;
  Rounding round;
};

/// Every rounding method, sorted by name.
std::span<const RoundingInfo> roundings() noexcept;

/// The rounding method called `name`. Throws Error(kUsage) with the nearest names.
const RoundingInfo& find_rounding(std::string_view name);

/// The stage of rounding: fills in Layer::integers.
void round_weights(Layer& layer, const RoundingInfo& rounding);

}  // namespace qtool
