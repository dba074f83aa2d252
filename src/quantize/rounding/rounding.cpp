#include "quantize/rounding/rounding.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/choices.h"
#include "base/hash.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {

#define QTOOL_ROUNDING(name, needs, summary) Tensor rounding_##name(const Layer&);
#include "quantize/rounding/roundings.inc"

std::span<const RoundingInfo> roundings() noexcept {
  static constexpr auto kRoundings = std::to_array<RoundingInfo>({
#define QTOOL_ROUNDING(name, needs, summary) \
  {#name, summary, RoundingNeeds::needs, rounding_##name},
#include "quantize/rounding/roundings.inc"
  });
  return kRoundings;
}

const RoundingInfo& find_rounding(std::string_view name) {
  return find_by_name(roundings(), name, "weight rounding");
}

const RoundingInfo& rounding_of(const QuantizeOptions& options, const RoundedWeights& rounded) {
  const RoundingInfo& rounding = find_rounding(options.rounding);
  if (rounding.needs != RoundingNeeds::kNothing && rounded.empty()) {
    throw Error(ErrorCode::kUsage, to_text("weight rounding '", rounding.name,
                                           "' needs images, found no weights rounded on any"));
  }
  return rounding;
}

bool fits(const Tensor& integers, const Layer& layer) {
  if (integers.dtype() != DType::kInt8 || integers.shape() != layer.weights.shape()) return false;
  const Limits limits = limits_of(layer.scheme);
  const auto values = integers.values<std::int8_t>();
  if (count_large_pairs(integers, layer, layer.pair_limit) > 0) return false;
  return std::all_of(values.begin(), values.end(),
                     [&](std::int8_t q) { return q >= limits.min && q <= limits.max; });
}

std::uint64_t rounding_source(const Layer& layer) {
  std::uint64_t hash = hash_bytes(std::as_bytes(layer.weights.values<float>()));
  hash = hash_bytes(std::as_bytes(std::span(layer.affines.scales)), hash);
  hash = hash_bytes(std::as_bytes(std::span(layer.affines.zero_points)), hash);
  if (layer.pair_limit != 0) {
    hash = hash_bytes(std::as_bytes(std::span(&layer.pair_limit, 1)), hash);
  }
  return std::max<std::uint64_t>(hash, 1);
}

void round_weights(Layer& layer, const RoundingInfo& rounding) {
  layer.integers = rounding.round(layer);
  QTOOL_CHECK(fits(layer.integers, layer));
}

void round_weights(const Graph& graph, const RoundingInfo& rounding, const RoundedWeights& rounded,
                   Layer& layer, QuantizeReport& report) {
  const std::string_view name = name_of(graph, layer.node);
  const auto found = rounded.find(name);
  if (found == rounded.end() ||
      (found->second.source != 0 && found->second.source != rounding_source(layer))) {
    round_weights(layer, rounding);
    if (rounding.needs != RoundingNeeds::kNothing) report.nearest_layers.emplace_back(name);
    return;
  }
  const Tensor& integers = *found->second.integers;
  if (!fits(integers, layer)) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("rounded weights of '", name, "': found ", name_of(integers.dtype()),
                        " of shape ", integers.shape().to_string(), ", expected int8 of shape ",
                        layer.weights.shape().to_string(), " within the limits of its bits"));
  }
  layer.integers = Tensor::of<std::int8_t>(integers.shape(), integers.values<std::int8_t>());
}

}  // namespace qtool
