// Reads the names of classes from the metadata of a model, as Python or JSON write them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtool/answers/annotations.h"

namespace qtool {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

void append_utf8(std::uint32_t code, std::string& out) {
  const auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto continued = [&](unsigned shift) { add(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80U) {
    add(code);
  } else if (code < 0x800U) {
    add(0xC0U | (code >> 6U));
    continued(0);
  } else if (code < 0x10000U) {
    add(0xE0U | (code >> 12U));
    continued(6);
    continued(0);
  } else {
    add(0xF0U | (code >> 18U));
    continued(12);
    continued(6);
    continued(0);
  }
}

// Reads the parts of a text one after the other. Each of them is left where it begins if it is not
// there, and std::nullopt says so.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

  bool take(char wanted) {
    skip_blanks();
    return take_next(wanted);
  }

  // A number of a class, with or without quotes. JSON has no other keys than strings.
  std::optional<std::int64_t> number() {
    skip_blanks();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) return digits();
    const std::optional<std::string> quoted = string();
    if (!quoted) return std::nullopt;
    Reader inside(*quoted);
    const std::optional<std::int64_t> value = inside.digits();
    return inside.rest_.empty() ? value : std::nullopt;
  }

  std::optional<std::string> string() {
    skip_blanks();
    if (rest_.empty()) return std::nullopt;
    const char quote = rest_.front();
    if (quote != '\'' && quote != '"') return std::nullopt;
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty()) {
      const char next = rest_.front();
      rest_.remove_prefix(1);
      if (next == quote) return text;
      if (next != '\\') {
        text.push_back(next);
      } else if (!unescape(text)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
  }

  bool take_next(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::int64_t> digits() {
    std::int64_t value = 0;
    std::size_t count = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count) {
      value = value * 10 + (rest_[count] - '0');
      if (value >= kMaxClassNames) return std::nullopt;
    }
    rest_.remove_prefix(count);
    return count > 0 ? std::optional(value) : std::nullopt;
  }

  std::optional<std::uint32_t> hex(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const char c = rest_[i];
      const bool decimal = c >= '0' && c <= '9';
      const char lower = static_cast<char>(c | 0x20);
      if (!decimal && (lower < 'a' || lower > 'f')) return std::nullopt;
      value = value << 4U | static_cast<std::uint32_t>(decimal ? c - '0' : lower - 'a' + 10);
    }
    rest_.remove_prefix(count);
    return value;
  }

  // The character of `digits` hexadecimal digits. JSON writes those beyond U+FFFF as two halves.
  bool append_code(std::size_t digits, std::string& text) {
    std::optional<std::uint32_t> code = hex(digits);
    if (code && *code >= 0xD800U && *code < 0xDC00U && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      const std::optional<std::uint32_t> low = hex(4);
      if (!low || *low < 0xDC00U || *low > 0xDFFFU) return false;
      code = 0x10000U + ((*code - 0xD800U) << 10U) + (*low - 0xDC00U);
    }
    if (!code || *code > 0x10FFFFU || (*code >= 0xD800U && *code <= 0xDFFFU)) return false;
    append_utf8(*code, text);
    return true;
  }

  // Appends what follows a backslash. Neither language writes other escapes than these.
  bool unescape(std::string& text) {
    if (rest_.empty()) return false;
    const char kind = rest_.front();
    rest_.remove_prefix(1);
    switch (kind) {
      case '\'':
      case '"':
      case '\\':
      case '/':
        text.push_back(kind);
        return true;
      case 'n':
        text.push_back('\n');
        return true;
      case 't':
        text.push_back('\t');
        return true;
      case 'r':
        text.push_back('\r');
        return true;
      case 'b':
        text.push_back('\b');
        return true;
      case 'f':
        text.push_back('\f');
        return true;
      case 'x':
        return append_code(2, text);
      case 'u':
        return append_code(4, text);
      case 'U':
        return append_code(8, text);
      default:
        return false;
    }
  }

  std::string_view rest_;
};

using Names = std::vector<std::string>;

std::optional<Names> read_list(Reader& reader) {
  Names names;
  while (!reader.take(']')) {
    if (!names.empty() && !reader.take(',')) return std::nullopt;
    std::optional<std::string> name = reader.string();
    if (!name || std::ssize(names) == kMaxClassNames) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

std::optional<Names> read_dictionary(Reader& reader) {
  std::vector<std::optional<std::string>> entries;
  while (!reader.take('}')) {
    if (!entries.empty() && !reader.take(',')) return std::nullopt;
    const std::optional<std::int64_t> number = reader.number();
    if (!number || !reader.take(':')) return std::nullopt;
    const auto index = static_cast<std::size_t>(*number);
    if (entries.size() <= index) entries.resize(index + 1);
    if (entries[index]) return std::nullopt;
    entries[index] = reader.string();
    if (!entries[index]) return std::nullopt;
  }
  Names names;
  for (std::optional<std::string>& entry : entries) names.push_back(std::move(entry).value_or(""));
  return names;
}

}  // namespace

std::optional<Names> class_names_from_text(std::string_view text) {
  if (text.size() > kMaxClassNameBytes) return std::nullopt;
  Reader reader(text);
  std::optional<Names> names;
  if (reader.take('{')) {
    names = read_dictionary(reader);
  } else if (reader.take('[')) {
    names = read_list(reader);
  }
  if (!names || names->empty() || !reader.at_end()) return std::nullopt;
  return names;
}

}  // namespace qtool
