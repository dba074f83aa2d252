#include "base/choices.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string alternatives(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += to_text(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates, std::size_t count) {
  constexpr std::size_t kLongestCompared = 256;  // bounds the cost for hostile names
  constexpr std::size_t kShortestPart = 3;       // shorter names are part of too many others
  const std::string wanted = to_lower(name.substr(0, kLongestCompared));
  const std::size_t bound = std::max<std::size_t>(wanted.size() / 3, 1);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string known = to_lower(std::string_view(candidate).substr(0, kLongestCompared));
    const std::size_t distance = edit_distance(wanted, known);
    const bool part = (wanted.size() >= kShortestPart && known.find(wanted) != std::string::npos) ||
                      (known.size() >= kShortestPart && wanted.starts_with(known));
    if (part || (distance <= bound && distance < wanted.size())) {
      ranked.emplace_back(distance, candidate);
    }
  }
  const std::size_t kept = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                    ranked.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kept; ++i) names.push_back(std::move(ranked[i].second));
  return names;
}

std::string nearest_text(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::string> near = nearest_names(name, candidates);
  for (std::string& known : near) known = to_text("'", known, "'");
  return near.empty() ? std::string() : to_text("; did you mean ", alternatives(near), "?");
}

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
