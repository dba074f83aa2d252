#include "qtool/calib/method.h"

#include <algorithm>
#include <array>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

#define QTOOL_METHOD(name, breaks, summary) \
  Range method_##name(const Statistics&, const MethodOptions&);
#include "calib/methods/methods.inc"

std::span<const MethodInfo> methods() noexcept {
  static constexpr auto kMethods = std::to_array<MethodInfo>({
#define QTOOL_METHOD(name, breaks, summary) {#name, summary, method_##name},
#include "calib/methods/methods.inc"
  });
  return kMethods;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.emplace_back(method.name);
  return names;
}

std::span<const MethodAlias> method_aliases() noexcept {
  static constexpr auto kAliases = std::to_array<MethodAlias>({
#define QTOOL_METHOD(name, breaks, summary)
#define QTOOL_METHOD_ALIAS(alias, name) {#alias, #name},
#include "calib/methods/methods.inc"
  });
  return kAliases;
}

const MethodInfo& find_method(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == ' ') c = '_';
  }
  const auto alias =
      std::find_if(method_aliases().begin(), method_aliases().end(),
                   [&](const MethodAlias& candidate) { return candidate.alias == plain; });
  if (alias != method_aliases().end()) plain = alias->name;
  const auto found = std::find_if(methods().begin(), methods().end(),
                                  [&](const MethodInfo& method) { return method.name == plain; });
  if (found == methods().end()) {
    throw Error(ErrorCode::kUsage, to_text("calibration method '", name, "' is unknown",
                                           expected_text(plain, method_names())));
  }
  return *found;
}

}  // namespace qtool
