#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace qtool {

/// The least number of characters to insert, remove or replace that makes `a` of `b`. Texts of more
/// than 4,096 characters are compared in pieces of that length, which gives at least this number.
/// Cost: O(differing part of a * differing part of b) for each piece; memory: 32 kB.
/// Source: Levenshtein, Binary codes capable of correcting deletions, insertions and reversals,
/// Soviet Physics Doklady 10 (1966); Wagner, Fischer, The string-to-string correction problem,
/// Journal of the ACM 21 (1974).
std::int64_t edit_distance(std::span<const std::int64_t> a, std::span<const std::int64_t> b);
std::int64_t edit_distance(std::string_view a, std::string_view b);

}  // namespace qtool
