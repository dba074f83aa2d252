#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// A rounding method: the integers of a layer whose scales are chosen, int8 in the shape of its
/// weights, within the limits of its scheme. It sees the whole layer and what is known about its
/// input. The result depends on nothing else.
using Rounding = Tensor (*)(const Layer& layer);

/// What a rounding method must know of the input of a layer. Where that is missing it rounds to
/// nearest.
enum class RoundingNeeds : std::uint8_t {
  kNothing,
  kMoments,  ///< LayerInput::moments
  kSamples,  ///< these and LayerInput::samples; without samples it makes do with the moments
};

/// A row of the list of rounding methods.
struct RoundingInfo {
  std::string_view name;
  RoundingNeeds needs = RoundingNeeds::kNothing;
  Rounding round = nullptr;
};

/// Every rounding method, sorted by name.
std::span<const RoundingInfo> roundings() noexcept;

/// The rounding method called `name`. Throws Error(kUsage) with the nearest names.
const RoundingInfo& find_rounding(std::string_view name);

/// The rounding method of `options`. Throws Error(kUsage) as find_rounding(), and when it needs
/// images but nothing was rounded on any.
const RoundingInfo& rounding_of(const QuantizeOptions& options);

/// A hash of what a rounding method rounds: the weights, scales and zero points of a layer; not 0.
std::uint64_t rounding_source(const Layer& layer);

/// Whether these are integers of the layer: int8, in the shape of its weights, within the limits of
/// its scheme.
bool fits(const Tensor& integers, const Layer& layer);

/// The stage of rounding: fills in Layer::integers.
void round_weights(Layer& layer, const RoundingInfo& rounding);
/// The same, unless `rounded` has integers of the layer as it is. Throws Error(kInvalidArgument)
/// when these do not fit the layer. Adds to QuantizeReport::nearest_layers.
void round_weights(const Graph& graph, const RoundingInfo& rounding, const RoundedWeights& rounded,
                   Layer& layer, QuantizeReport& report);

}  // namespace qtool
