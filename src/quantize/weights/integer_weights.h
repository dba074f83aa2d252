#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Chooses scales and zero points by the weight method `method`, one per index of `axis` or one for
/// all. The scales leave room for the biases:
///   s_c = max(method, |b_c| / (s_x 2^30))
/// The second term keeps the int32 bias, which has the scale s_x s_c, within half the range of
/// int32 (less if a sum of very many products needs the room). A channel of zeros without a bias
/// gets the scale 1, and so does a channel whose s_x s_c would not be a normal float.
/// `bias`: one per channel, or empty; `input_scale`: s_x. `threads`: 0 = all available; the result
/// does not depend on it. Throws Error(kInvalidArgument) for weights or biases that are not finite,
/// Error(kUsage) for an unknown method. Cost: the method's. Source: Krishnamoorthi, arXiv
/// 1806.08342, section 3. Differs from source: the bias term is added, because channels with
/// weights near zero and an ordinary bias occur in published networks.
Affines choose_weight_affines(const Tensor& weights, std::int64_t axis, std::string_view method,
                              const Scheme& scheme, Granularity granularity,
                              std::span<const float> bias, float input_scale, int threads = 0);

/// The largest |q - z| of a scheme for weights.
std::int32_t largest_magnitude(const Scheme& scheme);

/// q = clamp(round_half_even(w / s_c) + z_c) for the channel c of each weight, int8 in the weights'
/// shape. A single scale is used for all channels. Throws Error(kInvalidArgument) when there is
/// neither one scale nor one per channel, or when there are zero points but not one per scale.
Tensor quantize_weights(const Tensor& weights, const Scheme& scheme, const Affines& affines);

/// The reals s_c (q - z_c) of the integers of quantize_weights(). They round to the same integers
/// again.
Tensor dequantize_weights(const Tensor& integers, const Affines& affines);

}  // namespace qtool
