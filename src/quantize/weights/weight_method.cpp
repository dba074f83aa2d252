#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

#define QTOOL_WEIGHT_METHOD(name, homogeneity, summary) \
  Affine weight_##name(std::span<const float>, const Scheme&);
#include "quantize/weights/weight_methods.inc"

std::span<const WeightMethodInfo> weight_methods() noexcept {
  static constexpr auto kMethods = std::to_array<WeightMethodInfo>({
#define QTOOL_WEIGHT_METHOD(name, homogeneity, summary) \
  {#name, summary, Homogeneity::homogeneity, weight_##name},
#include "quantize/weights/weight_methods.inc"
  });
  return kMethods;
}

const WeightMethodInfo& find_weight_method(std::string_view name) {
  std::vector<std::string> names;
  for (const WeightMethodInfo& method : weight_methods()) {
    if (method.name == name) return method;
    names.emplace_back(method.name);
  }
  throw Error(ErrorCode::kUsage,
              concat("weight method '", name, "' is unknown", expected_text(name, names)));
}

}  // namespace qtool
