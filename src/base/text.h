#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace qtool {

/// Shortest decimal text that reads back to the same number; independent of the locale.
std::string to_text(double value);
std::string to_text(float value);
std::string to_text(std::int64_t value);
std::string to_text(std::uint64_t value);

/// Decimal text with exactly `decimals` digits after the point; independent of the locale.
std::string to_fixed(double value, int decimals);
/// The text of to_fixed(), with `+` in front unless it begins with `-`.
std::string to_signed_fixed(double value, int decimals);
/// ` (22.7 to 23.6)`; empty for an empty text.
std::string in_brackets(std::string_view text);

/// Reads a whole string, except for spaces around it, as a number. Throws Error(kInvalidArgument)
/// naming `what` if it is not a number.
double parse_double(std::string_view text, std::string_view what);
float parse_float(std::string_view text, std::string_view what);
std::int64_t parse_int(std::string_view text, std::string_view what);

/// `value` as 16 lower-case hexadecimal digits (used for hashes).
std::string to_hex(std::uint64_t value);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);

/// The words as one text: `a, b or c`.
std::string alternatives(std::span<const std::string> words);

namespace detail {
inline void append(std::string& out, std::string_view part) { out.append(part); }
inline void append(std::string& out, char part) { out.push_back(part); }
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void append(std::string& out, T part) {
  if constexpr (std::is_signed_v<T>) {
    out.append(to_text(static_cast<std::int64_t>(part)));
  } else {
    out.append(to_text(static_cast<std::uint64_t>(part)));
  }
}
template <std::floating_point T>
void append(std::string& out, T part) {
  out.append(to_text(part));
}
}  // namespace detail

/// All parts as one string: text as it is, numbers as to_text() above writes them.
template <typename First, typename Second, typename... Others>
std::string to_text(const First& first, const Second& second, const Others&... others) {
  std::string out;
  detail::append(out, first);
  detail::append(out, second);
  (detail::append(out, others), ...);
  return out;
}

}  // namespace qtool
