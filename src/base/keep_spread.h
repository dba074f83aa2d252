#pragma once

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace qtool {

/// Keeps `count` of the entries, evenly spread over all of them and in their order: entry i is the
/// one at floor(i n / count) of n. Keeps all when there are no more.
template <class T>
void keep_spread(std::vector<T>& entries, std::int64_t count) {
  const std::int64_t all = std::ssize(entries);
  if (count >= all) return;
  for (std::int64_t i = 1; i < count; ++i) {
    entries[static_cast<std::size_t>(i)] =
        std::move(entries[static_cast<std::size_t>(i * all / count)]);
  }
  entries.erase(entries.begin() + count, entries.end());
}

}  // namespace qtool
