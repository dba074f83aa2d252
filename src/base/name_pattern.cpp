#include "base/name_pattern.h"

#include "base/did_you_mean.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

bool matches_pattern(std::string_view name, std::string_view pattern) {
  // Greedy matching with one point to return to: linear in practice, quadratic at worst.
  std::size_t n = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
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
                to_text("'", patterns[p], "' matches no ", kind, did_you_mean(patterns[p], names)));
  }
  return matched;
}

}  // namespace qtool
