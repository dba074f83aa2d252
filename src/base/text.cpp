#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "qtool/base/error.h"

namespace qtool {
namespace {

template <typename T, typename... Format>
std::string to_chars_text(T value, Format... format) {
  std::array<char, 400> buffer;  // the longest fixed double has 309 digits before the point
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...);
  return {buffer.data(), result.ptr};
}

template <typename T>
T parse_number(std::string_view text, std::string_view what, const char* expected) {
  T value{};
  const std::string_view body = trim(text);
  const auto result = std::from_chars(body.data(), body.data() + body.size(), value);
  if (body.empty() || result.ec != std::errc() || result.ptr != body.data() + body.size()) {
    throw Error(ErrorCode::kInvalidArgument, to_text(what, ": '", text, "' is not ", expected));
  }
  return value;
}

}  // namespace

std::string to_text(double value) { return to_chars_text(value); }
std::string to_text(float value) { return to_chars_text(value); }
std::string to_text(std::int64_t value) { return to_chars_text(value); }
std::string to_text(std::uint64_t value) { return to_chars_text(value); }

std::string to_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return to_text(value);
  return to_chars_text(value, std::chars_format::fixed, std::clamp(decimals, 0, 60));
}

std::string to_signed_fixed(double value, int decimals) {
  const std::string text = to_fixed(value, decimals);
  return text.starts_with('-') ? text : to_text("+", text);
}

std::string in_brackets(std::string_view text) {
  return text.empty() ? std::string() : to_text(" (", text, ")");
}

double parse_double(std::string_view text, std::string_view what) {
  return parse_number<double>(text, what, "a number");
}
float parse_float(std::string_view text, std::string_view what) {
  return parse_number<float>(text, what, "a number");
}
std::int64_t parse_int(std::string_view text, std::string_view what) {
  return parse_number<std::int64_t>(text, what, "a whole number");
}

std::string to_hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t digit = 16; digit-- > 0; value >>= 4) {
    out[digit] = "0123456789abcdef"[value & 15U];
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string alternatives(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += to_text(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

}  // namespace qtool
