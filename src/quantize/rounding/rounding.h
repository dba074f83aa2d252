#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// A rounding method. It computes the integers of a layer whose scales are already chosen: int8, in
/// the shape of the weights, within the limits of the scheme. The result depends only on the layer
/// and on Layer::input.
using Rounding = Tensor (*)(const Layer& layer);

/// The data about the input of a layer that a rounding method needs. Without these data it rounds
/// to nearest.
enum class RoundingNeeds : std::uint8_t {
  kNothing,
  kMoments,  ///< LayerInput::moments
  kSamples,  ///< moments and LayerInput::samples; uses the moments alone if there are no samples
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

/// The rounding method of `options`. Throws Error(kUsage) as find_rounding(), and if the method
/// needs images but `options` has no layers rounded on images.
const RoundingInfo& rounding_of(const QuantizeOptions& options);

/// A hash of the data that a rounding method rounds: the weights, scales and zero points of a
/// layer. Never 0.
std::uint64_t rounding_source(const Layer& layer);

/// Whether `integers` can be the integers of the layer: int8, in the shape of its weights, within
/// the limits of its scheme.
bool fits(const Tensor& integers, const Layer& layer);

/// The stage of rounding: fills in Layer::integers.
void round_weights(Layer& layer, const RoundingInfo& rounding);
/// Takes the integers from `rounded` if it has some for the layer with its present weights and
/// scales. Otherwise rounds as above. Throws Error(kInvalidArgument) when the integers of `rounded`
/// do not fit the layer. Adds to QuantizeReport::nearest_layers.
void round_weights(const Graph& graph, const RoundingInfo& rounding, const RoundedWeights& rounded,
                   Layer& layer, QuantizeReport& report);

}  // namespace qtool
