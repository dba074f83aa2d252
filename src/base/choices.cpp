#include "base/choices.h"

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

std::string alternatives(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += to_text(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

std::string expected_text(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = nearest_text(name, candidates);
  return near.empty() ? to_text("; expected ", alternatives(candidates)) : near;
}

void refuse_name(std::string_view name, std::span<const std::string> candidates,
                 std::string_view kind) {
  throw Error(ErrorCode::kUsage,
              to_text(kind, " '", name, "' is unknown", expected_text(name, candidates)));
}

std::vector<std::size_t> match_names(std::span<const std::string> names,
                                     std::span<const std::string> patterns, std::string_view kind) {
  std::vector<char> hit(patterns.size(), 0);
  std::vector<std::size_t> matched;
  for (std::size_t i = 0; i < names.size(); ++i) {
    bool any = false;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      if (names[i] != patterns[p] && !matches_pattern(names[i], patterns[p])) continue;
      hit[p] = 1;
      any = true;
    }
    if (any) matched.push_back(i);
  }
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (hit[p] != 0) continue;
    throw Error(ErrorCode::kUsage,
                to_text("'", patterns[p], "' matches no ", kind, nearest_text(patterns[p], names)));
  }
  return matched;
}

}  // namespace qtool
