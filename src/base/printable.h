#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qtool {

/// What happens to line feeds: they are escaped in names and messages, which are one line, and kept
/// in texts of several lines.
enum class LineFeeds : std::uint8_t { kEscape, kKeep };

/// `text` in a form that a terminal or a log can only display. Names of tensors, nodes and files
/// are untrusted: they may contain terminal commands or reverse the direction of the text. Control
/// characters, invisible and bidirectional formatting characters become \n, \t, \r or \uXXXX (two
/// of them beyond U+FFFF), which a JSON string takes for the same characters; bytes that are not
/// UTF-8 become \xXX. Everything else stays. Cost: O(length).
std::string printable(std::string_view text, LineFeeds line_feeds = LineFeeds::kEscape);

}  // namespace qtool
