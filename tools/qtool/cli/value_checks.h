#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/option.h"

namespace qtool::tool {

// Checks for the values of an option, made while the command line is read.

/// A whole number in [least, most].
Check whole_number(std::int64_t least, std::int64_t most);
/// A whole number that is at least `least`.
Check whole_number_from(std::int64_t least);
/// A number for which `fits` is true. `expected` describes such numbers:
/// `a number above 50 and up to 100`.
Check number(std::function<bool(double)> fits, std::string expected);

/// A share in percent: a number from 0 to 100.
Check percentage();

/// An SQNR in decibels: a number from -200 to 200. Every SQNR is limited to this range.
Check decibels();

/// A time of at least a millisecond, such as 90, 90s, 5m or 1h. seconds_of_time() reads it.
Check time_span();
double seconds_of_time(const std::string& text);

}  // namespace qtool::tool
