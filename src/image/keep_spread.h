#pragma once

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace qtool {

/// Keeps `count` of the entries, evenly spread over all of them and in their order. With n entries
/// before the call, the new entry i is the old entry floor(i n / count). Keeps all entries when
/// there are at most `count`.
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
