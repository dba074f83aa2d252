#pragma once

#include <string>

namespace qtool {

/// `1.234` for 0.001234 s.
std::string milliseconds(double seconds);
/// `2.50x`; `-` where `fast` is 0.
std::string ratio(double slow, double fast);
/// One line where the times of a model cannot be trusted; empty otherwise.
std::string unsteady_line(const char* name, double median_seconds, double fastest_seconds);

}  // namespace qtool
