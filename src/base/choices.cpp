#include "base/choices.h"

#include "base/nearest_name.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

std::string expected_text(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = nearest_text(name, candidates);
  return near.empty() ? to_text("; expected ", alternatives(candidates)) : near;
}

void refuse_name(std::string_view name, std::span<const std::string> candidates,
                 std::string_view kind) {
  throw Error(ErrorCode::kUsage,
              to_text(kind, " '", name, "' is unknown", expected_text(name, candidates)));
}

}  // namespace qtool
