#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// `a, b or c`.
std::string alternatives(std::span<const std::string> words);

/// End of an error message about a name that is not in a short list: the suggestion of
/// nearest_text(), or the whole list as "; expected a, b or c" when no name is near.
std::string expected_text(std::string_view name, std::span<const std::string> candidates);

}  // namespace qtool
