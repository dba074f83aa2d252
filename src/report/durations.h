#pragma once

#include <string>

#include "qtool/compare/profile.h"

namespace qtool {

/// `1.234` for 0.001234 s.
std::string milliseconds(double seconds, int decimals = 3);
/// `+1.23 ms (+1.20 to +1.31)`: how much longer one model takes than another.
std::string slower_by(const MedianInterval& slower);
/// `+3.0 % (+2.1 to +3.9 %)`: the same in shares of the other model's time. If the measurement was
/// disturbed, a text says so in place of figures.
std::string slower_by(const RunCost& cost);
/// `2.50x`; `-` where `fast` is 0.
std::string ratio(double slow, double fast);
/// A line that warns if the times of a model vary too much to be trusted; otherwise empty.
std::string unsteady_line(const char* name, double median_seconds, double fastest_seconds);

}  // namespace qtool
