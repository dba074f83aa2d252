#include "checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

/// Without a description: CLI11 would print it beside the type of the value.
CLI::Validator validator(std::function<std::string(std::string&)> check) {
  return CLI::Validator(std::move(check), "");
}

/// The text as a number, if it is one.
template <typename T>
std::optional<T> parsed(const std::string& text, T (*parse)(std::string_view, std::string_view)) {
  try {
    return parse(text, "");
  } catch (const Error&) {
    return std::nullopt;
  }
}

CLI::Validator whole(std::int64_t least, std::int64_t most, std::string expected) {
  return validator([=](const std::string& text) {
    const std::optional<std::int64_t> value = parsed<std::int64_t>(text, parse_int);
    if (value && *value >= least && *value <= most) return std::string();
    return value ? concat("found ", *value, ", expected ", expected)
                 : concat("found '", text, "', expected a whole number, ", expected);
  });
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

CLI::Validator time_span() {
  return validator([](const std::string& text) {
    const std::optional<double> seconds = [&]() -> std::optional<double> {
      try {
        return seconds_of_time(text);
      } catch (const Error&) {
        return std::nullopt;
      }
    }();
    if (seconds && *seconds >= kMinSeconds && *seconds <= kMaxSeconds) return std::string();
    return concat("found '", text, "', expected a time such as 90s, 5m or 1h");
  });
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return whole(least, most, concat(least, " to ", most));
}

CLI::Validator whole_number_from(std::int64_t least) {
  return whole(least, std::numeric_limits<std::int64_t>::max(), concat(least, " or more"));
}

CLI::Validator number(std::function<bool(double)> fits, std::string expected) {
  return validator(
      [fits = std::move(fits), expected = std::move(expected)](const std::string& text) {
        const std::optional<double> value = parsed<double>(text, parse_double);
        if (value && fits(*value)) return std::string();
        return concat("found ", value ? to_text(*value) : concat("'", text, "'"), ", expected ",
                      expected);
      });
}

CLI::Validator decibels() {
  return number([](double value) { return std::abs(value) <= 200.0; }, "a number from -200 to 200");
}

void take_words(Command& command, CLI::Option& option, std::vector<std::string> words) {
  command.offer(&option, words);
  option.check(validator([words = std::move(words)](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    return concat("found '", text, "', expected ", alternatives(words));
  }));
}

void take_name(Command& command, CLI::Option& option, std::vector<std::string> words,
               std::function<std::string(std::string_view)> canonical) {
  command.offer(&option, std::move(words));
  option.transform(validator([canonical = std::move(canonical)](std::string& text) {
    try {
      text = canonical(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  }));
}

}  // namespace qtool::tool
