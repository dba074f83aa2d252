#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qtool {

/// What becomes of line feeds: escaped in a name or a message, which are one line; kept in a text
/// that has lines of its own.
enum class LineFeeds : std::uint8_t { kEscape, kKeep };

/// `text` such that a terminal or a log shows it and does nothing else. Names of tensors, nodes and
/// files are untrusted: they may hold commands to the terminal or turn the direction of what is
/// read. Control characters, invisible and bidirectional formatting characters become \n, \t, \r
/// or \uXXXX (two of them beyond U+FFFF), which a JSON string takes for the same characters; bytes
/// that are not UTF-8 become \xXX. Everything else stays. Cost: O(length).
std::string printable(std::string_view text, LineFeeds line_feeds = LineFeeds::kEscape);

}  // namespace qtool
