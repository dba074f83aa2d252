#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// At most `count` candidates that `name` may be a misspelling of, nearest first. At most a third
/// of the letters differ, or the candidate contains `name`, or `name` begins with the candidate.
/// Cost: O(candidates x lengths).
std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates,
                                       std::size_t count = 3);

/// The end of an error message about a name that is not among `candidates`: "; did you mean 'a' or
/// 'b'?", or empty when none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace qtool
