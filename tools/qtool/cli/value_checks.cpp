#include "cli/value_checks.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

/// The text as a number, if it is one.
template <typename T>
std::optional<T> parsed(const std::string& text, T (*parse)(std::string_view, std::string_view)) {
  try {
    return parse(text, "");
  } catch (const Error&) {
    return std::nullopt;
  }
}

Check whole(std::int64_t least, std::int64_t most, std::string expected) {
  return [=](const std::string& text) {
    const std::optional<std::int64_t> value = parsed<std::int64_t>(text, parse_int);
    if (value && *value >= least && *value <= most) return std::string();
    return value ? to_text("found ", *value, ", expected ", expected)
                 : to_text("found '", text, "', expected a whole number, ", expected);
  };
}

constexpr double kMinSeconds = 1e-3;
constexpr double kMaxSeconds = 1e7;

}  // namespace

double seconds_of_time(const std::string& text) {
  const char unit = text.empty() ? 's' : text.back();
  const double factor = unit == 'm' ? 60.0 : unit == 'h' ? 3600.0 : 1.0;
  const bool has_unit = unit == 'm' || unit == 'h' || unit == 's';
  return factor *
         parse_double(text.substr(0, text.size() - (has_unit && !text.empty() ? 1 : 0)), "");
}

Check time_span() {
  return [](const std::string& text) {
    const std::optional<double> seconds = [&]() -> std::optional<double> {
      try {
        return seconds_of_time(text);
      } catch (const Error&) {
        return std::nullopt;
      }
    }();
    if (seconds && *seconds >= kMinSeconds && *seconds <= kMaxSeconds) return std::string();
    return to_text("found '", text, "', expected a time such as 90s, 5m or 1h");
  };
}

Check whole_number(std::int64_t least, std::int64_t most) {
  return whole(least, most, to_text(least, " to ", most));
}

Check whole_number_from(std::int64_t least) {
  return whole(least, std::numeric_limits<std::int64_t>::max(), to_text(least, " or more"));
}

Check number(std::function<bool(double)> fits, std::string expected) {
  return [fits = std::move(fits), expected = std::move(expected)](const std::string& text) {
    const std::optional<double> value = parsed<double>(text, parse_double);
    if (value && fits(*value)) return std::string();
    return to_text("found ", value ? to_text(*value) : to_text("'", text, "'"), ", expected ",
                   expected);
  };
}

Check percentage() {
  return number([](double value) { return value >= 0.0 && value <= 100.0; },
                "a number from 0 to 100");
}

Check decibels() {
  return number([](double value) { return std::abs(value) <= 200.0; }, "a number from -200 to 200");
}

}  // namespace qtool::tool
