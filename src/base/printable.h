#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qtool {

/// The treatment of line feeds. They are escaped in names and messages, which are one line, and
/// kept in texts of several lines.
enum class LineFeeds : std::uint8_t { kEscape, kKeep };

/// Makes `text` safe for a terminal or a log: nothing in it can do more than be displayed. Names of
/// tensors, nodes and files are untrusted: they may contain terminal commands or reverse the
/// direction of the text. Control characters, invisible and bidirectional formatting characters
/// become \n, \t, \r or \uXXXX (two \uXXXX for a character beyond U+FFFF). A JSON parser reads
/// these as the same characters. Bytes that are not UTF-8 become \xXX. Everything else stays
/// unchanged. Cost: O(length).
std::string printable(std::string_view text, LineFeeds line_feeds = LineFeeds::kEscape);

}  // namespace qtool
