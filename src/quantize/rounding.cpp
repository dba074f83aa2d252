#include "quantize/rounding.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

#define QTOOL_ROUNDING(name) Tensor rounding_##name(const Layer&);
#include "quantize/roundings.inc"

std::span<const RoundingInfo> roundings() noexcept {
  static constexpr auto kRoundings = std::to_array<RoundingInfo>({
#define QTOOL_ROUNDING(name) {#name, rounding_##name},
#include "quantize/roundings.inc"
  });
  return kRoundings;
}

const RoundingInfo& find_rounding(std::string_view name) {
  std::vector<std::string> names;
  for (const RoundingInfo& rounding : roundings()) {
    if (rounding.name == name) return rounding;
    names.emplace_back(rounding.name);
  }
  throw Error(ErrorCode::kUsage,
              concat("weight rounding '", name, "' is unknown", expected_text(name, names)));
}

void round_weights(Layer& layer, const RoundingInfo& rounding) {
  layer.integers = rounding.round(layer);
  QTOOL_CHECK(layer.integers.dtype() == DType::kInt8 &&
              layer.integers.shape() == layer.weights.shape());
  const Limits limits = limits_of(layer.scheme);
  const auto integers = layer.integers.values<std::int8_t>();
  QTOOL_CHECK(std::all_of(integers.begin(), integers.end(),
                          [&](std::int8_t q) { return q >= limits.min && q <= limits.max; }));
}

}  // namespace qtool
