#include "base/did_you_mean.h"

#include <algorithm>
#include <utility>

#include "base/edit_distance.h"
#include "base/text.h"

namespace qtool {

std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates, std::size_t count) {
  constexpr std::size_t kLongestCompared = 256;  // bounds the cost for hostile names
  constexpr std::size_t kShortestPart = 3;       // shorter names are part of too many others
  const std::string wanted = to_lower(name.substr(0, kLongestCompared));
  const std::size_t bound = std::max<std::size_t>(wanted.size() / 3, 1);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string known = to_lower(std::string_view(candidate).substr(0, kLongestCompared));
    const auto distance = static_cast<std::size_t>(edit_distance(wanted, known));
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

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::string> near = nearest_names(name, candidates);
  for (std::string& known : near) known = to_text("'", known, "'");
  return near.empty() ? std::string() : to_text("; did you mean ", alternatives(near), "?");
}

}  // namespace qtool
