#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace qtool {
namespace {

/// One UTF-8 character and its length in bytes; the length is 0 if the bytes are not UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < bytes) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kMin{0, 0, 0x80, 0x800, 0x10000};  // by number of bytes
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kMin[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Invisible characters that control terminals or the direction of text, from Unicode's categories
// Cc, Cf, Zl, Zp. In ascending order.
constexpr std::array kUnseen{
    CodeRange{0x00, 0x1F},     CodeRange{0x7F, 0x9F},       CodeRange{0xAD, 0xAD},
    CodeRange{0x061C, 0x061C}, CodeRange{0x180E, 0x180E},   CodeRange{0x200B, 0x200F},
    CodeRange{0x2028, 0x202E}, CodeRange{0x2060, 0x206F},   CodeRange{0xFEFF, 0xFEFF},
    CodeRange{0xFFF9, 0xFFFB}, CodeRange{0xE0000, 0xE007F},
};

bool is_unseen(char32_t code) {
  return std::ranges::any_of(kUnseen, [code](const CodeRange& range) {
    return code >= range.first && code <= range.last;
  });
}

void append_hex(std::string& out, char32_t value, int digits) {
  for (int digit = digits - 1; digit >= 0; --digit) {
    out += "0123456789abcdef"[(value >> (4 * static_cast<unsigned>(digit))) & 15U];
  }
}

void append_escape(std::string& out, char32_t code) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\t') {
    out += "\\t";
  } else if (code == '\r') {
    out += "\\r";
  } else if (code > 0xFFFF) {  // as in JSON: a pair of surrogates
    append_escape(out, 0xD800 + ((code - 0x10000) >> 10U));
    append_escape(out, 0xDC00 + ((code - 0x10000) & 0x3FFU));
  } else {
    out += "\\u";
    append_hex(out, code, 4);
  }
}

}  // namespace

std::string printable(std::string_view text, LineFeeds line_feeds) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const bool kept_feed = character.code == '\n' && line_feeds == LineFeeds::kKeep;
    if (character.bytes == 0) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text.front()), 2);
    } else if (kept_feed || !is_unseen(character.code)) {
      out += text.substr(0, character.bytes);
    } else {
      append_escape(out, character.code);
    }
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return out;
}

}  // namespace qtool
