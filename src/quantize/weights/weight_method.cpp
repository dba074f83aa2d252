#include <array>

#include "base/choices.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

#define QTOOL_WEIGHT_METHOD(name, homogeneity, summary) \
  Affine weight_##name(std::span<const float>, const Scheme&);
#include "quantize/weights/weight_methods.inc"

std::span<const WeightMethodInfo> weight_methods() noexcept {
  static constexpr auto kMethods = std::to_array<WeightMethodInfo>({
#define QTOOL_WEIGHT_METHOD(name, homogeneity, summary) {#name, summary, weight_##name},
#include "quantize/weights/weight_methods.inc"
  });
  return kMethods;
}

const WeightMethodInfo& find_weight_method(std::string_view name) {
  return find_by_name(weight_methods(), name, "weight method");
}

}  // namespace qtool
