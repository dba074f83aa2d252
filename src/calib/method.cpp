#include "qtool/calib/method.h"

#include <algorithm>
#include <array>

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {

#define QTOOL_METHOD(name, breaks, summary) \
  Range method_##name(const Statistics&, const MethodOptions&);
#include "calib/methods.inc"

std::span<const MethodInfo> methods() noexcept {
  static constexpr auto kMethods = std::to_array<MethodInfo>({
#define QTOOL_METHOD(name, breaks, summary) {#name, breaks, summary, method_##name},
#include "calib/methods.inc"
  });
  return kMethods;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.emplace_back(method.name);
  return names;
}

const MethodInfo& find_method(std::string_view name) {
  const auto found = std::find_if(methods().begin(), methods().end(),
                                  [&](const MethodInfo& method) { return method.name == name; });
  if (found == methods().end()) {
    throw Error(ErrorCode::kUsage, concat("calibration method '", name, "' is unknown",
                                          nearest_text(name, method_names())));
  }
  return *found;
}

Range clipped_range(const Statistics& statistics, double threshold) noexcept {
  const Range range = statistics.range();
  const auto limit = static_cast<float>(threshold);
  return {std::max(range.min, -limit), std::min(range.max, limit)};
}

}  // namespace qtool
