#pragma once

#include <cstdint>
#include <string>

namespace qtool {

/// `96.25 %` for 0.9625.
std::string percent(double share, int decimals);

/// `96.25 %` for 77 of 80; `-` when `total` is 0.
std::string percent_of(std::int64_t part, std::int64_t total, int decimals = 2);

}  // namespace qtool
