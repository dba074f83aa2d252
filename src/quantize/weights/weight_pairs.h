#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/layer.h"

// Some back-ends multiply with an instruction that adds the products of two neighbouring weights in
// 16 bits, where the sum saturates. A pair is the weights 2 i and 2 i + 1 of an output channel, in
// the order in which the back-end multiplies: tap by tap, and within a tap by input channel. Where
// every pair is within a limit, no sum can saturate, whatever the activations are.
namespace qtool {

/// The limit of pairs for a target: the positive integers of a pair may sum to at most this, and
/// the negative ones to at least minus this. It is 32767 divided by the largest activation: 128 for
/// 8 bits. Signed activations count as what ONNX Runtime makes of them on x86, unsigned ones with
/// 128 added. 0 if the target adds in 32 bits. Source: the instruction vpmaddubsw.
std::int32_t pair_limit_of(const Target& target);

/// The same for a layer. It is also 0 if any pair will do: because its weights are too small to
/// saturate or have zero points, or because it is a depthwise convolution or a recurrent layer,
/// which multiply in other ways.
std::int32_t pair_limit_of(const Graph& graph, NodeId node, const WeightLayout& layout,
                           const Target& target);

/// Raises the scale of each output channel that has a pair beyond the limit, by up to a factor of
/// 2, to the scale of least squared error. The error is that of rounding_nearest(). `threads`: 0 =
/// all available; the result does not depend on it. Cost: each such channel is rounded 32,768 /
/// weights times, but at least 4 times, and its large pairs at least 33 times: about 0.03 ms.
void fit_scales_to_pairs(Layer& layer, int threads = 0);

/// Replaces each pair of `integers` beyond the limit by the integers within it that are nearest to
/// the real weights. `integers`: those nearest to the weights, in their order. Cost: one pass.
void limit_pairs(const Layer& layer, std::span<std::int8_t> integers);

/// The other weight of a pair. Both are elements of an output channel, input * taps + tap. Nothing
/// for the last one of an odd number.
std::optional<std::int64_t> partner_of(const WeightLayout& layout, std::int64_t element);

/// The integer nearest to `q` that may stand beside `partner`.
constexpr std::int32_t beside(std::int32_t partner, std::int32_t q, std::int32_t limit) {
  if (q > 0 && partner > 0) return std::min(q, limit - partner);
  if (q < 0 && partner < 0) return std::max(q, -limit - partner);
  return q;
}

/// The number of pairs beyond `limit` if the weights of a layer were `integers`. None if the limit
/// is 0. Cost: one pass.
std::int64_t count_large_pairs(const Tensor& integers, const Layer& layer, std::int32_t limit);

/// The number of pairs of a rounded layer that saturate for large activations. Cost: one pass.
std::int64_t saturating_pairs(const Graph& graph, const Target& target, const Layer& layer);

/// The number of pairs beyond `limit` in a prepared INT8 model for a target: of the Conv, Gemm and
/// MatMul that have a limit, whose weights are int8 constants behind a DequantizeLinear. None if
/// the limit is 0. Cost: one pass over them.
std::int64_t count_large_pairs(const Graph& int8, const Target& target, std::int32_t limit);

}  // namespace qtool
