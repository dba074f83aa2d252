#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// `a, b or c`.
std::string alternatives(std::span<const std::string> words);

/// The end of an error message about a name that is not in a list short enough to be shown as a
/// whole: as nearest_text(), or "; expected a, b or c" when none is near.
std::string expected_text(std::string_view name, std::span<const std::string> candidates);

}  // namespace qtool
