#include "base/choices.h"

#include "base/did_you_mean.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

std::string expected_text(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = did_you_mean(name, candidates);
  return near.empty() ? to_text("; expected ", alternatives(candidates)) : near;
}

void refuse_name(std::string_view name, std::span<const std::string> candidates,
                 std::string_view kind) {
  throw Error(ErrorCode::kUsage,
              to_text(kind, " '", name, "' is unknown", expected_text(name, candidates)));
}

}  // namespace qtool
