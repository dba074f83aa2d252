#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/choices.h"
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

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
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

std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates, std::size_t count) {
  constexpr std::size_t kLongestCompared = 256;  // bounds the cost for hostile names
  constexpr std::size_t kShortestPart = 3;       // shorter names are part of too many others
  const std::string wanted = to_lower(name.substr(0, kLongestCompared));
  const std::size_t bound = std::max<std::size_t>(wanted.size() / 3, 1);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string known = to_lower(std::string_view(candidate).substr(0, kLongestCompared));
    const std::size_t distance = edit_distance(wanted, known);
    const bool part = (wanted.size() >= kShortestPart && known.find(wanted) != std::string::npos) ||
                      (known.size() >= kShortestPart && wanted.starts_with(known));
    if (part || (distance <= bound && distance < wanted.size())) {
      ranked.emplace_back(distance, candidate);
    }
  }
  const std::size_t kept = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                    ranked.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kept; ++i) names.push_back(std::move(ranked[i].second));
  return names;
}

std::string nearest_text(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::string> near = nearest_names(name, candidates);
  for (std::string& known : near) known = to_text("'", known, "'");
  return near.empty() ? std::string() : to_text("; did you mean ", alternatives(near), "?");
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  // Greedy matching with one point to return to: linear in practice, quadratic at worst.
  std::size_t n = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace qtool
