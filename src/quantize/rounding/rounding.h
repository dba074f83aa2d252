#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/quantize/quantize.h"
#include "quantize/layer.h"

namespace qtool {

/// The rounding method of `options`. Throws Error(kUsage) as find_rounding(), and if the method
/// needs images but `rounded` is empty.
const RoundingInfo& rounding_of(const QuantizeOptions& options, const RoundedWeights& rounded);

/// A hash of the data that a rounding method rounds: the weights, scales, zero points and limit of
/// pairs of a layer. Never 0.
std::uint64_t rounding_source(const Layer& layer);

/// Whether `integers` can be the integers of the layer: int8, in the shape of its weights, within
/// the limits of its scheme and of its pairs.
bool fits(const Tensor& integers, const Layer& layer);

/// The stage of rounding: fills in Layer::integers.
void round_weights(Layer& layer, const RoundingInfo& rounding);
/// Takes the integers from `rounded` if it has some for the layer with its present weights and
/// scales. Otherwise rounds as above. Throws Error(kInvalidArgument) when the integers of `rounded`
/// do not fit the layer. Adds to QuantizeReport::nearest_layers.
void round_weights(const Graph& graph, const RoundingInfo& rounding, const RoundedWeights& rounded,
                   Layer& layer, QuantizeReport& report);

}  // namespace qtool
