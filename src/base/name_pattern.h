#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// True when `name` matches `pattern`, where `*` stands for any text and `?` for one character.
bool matches_pattern(std::string_view name, std::string_view pattern);

/// Indices of the names that equal or match one of `patterns`, see matches_pattern(). Throws
/// Error(kUsage) for a pattern that matches no name; the message is "'conv9' matches no <kind>" and
/// suggests similar names. Cost: O(names x patterns).
std::vector<std::size_t> match_names(std::span<const std::string> names,
                                     std::span<const std::string> patterns, std::string_view kind);

}  // namespace qtool
