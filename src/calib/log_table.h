#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace qtool {

/// ln of positive normal numbers from a table of the leading bits and three terms of the series:
/// right to 2e-15, several times faster than the exact function, of which the searches for a
/// threshold need hundreds of thousands. 32 KiB.
class LogTable {
 public:
  LogTable() {
    for (std::size_t i = 0; i < kSize; ++i) {
      const double middle = 1.0 + (static_cast<double>(i) + 0.5) / kSize;
      rows_[i] = {1.0 / middle, std::log(middle)};
    }
  }
  [[nodiscard]] double operator()(double x) const noexcept {
    constexpr double kLn2 = 0.69314718055994530942;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<std::int64_t>(bits >> 52U) - 1023;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52U) - 1U);
    const Row& row = rows_[fraction >> (52U - kBits)];
    const double mantissa = std::bit_cast<double>(fraction | (std::uint64_t{1023} << 52U));
    const double r = mantissa * row.inverse - 1.0;  // below 2^-12, so the next term is below 2^-50
    const double series = r - r * r * (1.0 / 2 - r * (1.0 / 3));
    return static_cast<double>(exponent) * kLn2 + (row.log + series);
  }

 private:
  struct Row {
    double inverse;
    double log;
  };
  static constexpr unsigned kBits = 11;
  static constexpr std::size_t kSize = std::size_t{1} << kBits;
  std::array<Row, kSize> rows_{};
};

/// The one table of the process.
inline const LogTable& log_table() {
  static const LogTable table;
  return table;
}

}  // namespace qtool
