#include "calib/fractional_kl.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace qtool {
namespace {

/// ln of positive normal numbers from a table of the leading bits and three terms of the series:
/// right to 1e-14, several times faster than the exact function, which the search is made of.
class LogTable {
 public:
  LogTable() {
    for (std::size_t i = 0; i < kSize; ++i) {
      const double middle = 1.0 + (static_cast<double>(i) + 0.5) / kSize;
      inverse_[i] = 1.0 / middle;
      log_[i] = std::log(middle);
    }
  }
  [[nodiscard]] double operator()(double x) const noexcept {
    constexpr double kLn2 = 0.69314718055994530942;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<std::int64_t>(bits >> 52U) - 1023;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52U) - 1U);
    const std::size_t i = fraction >> (52U - kBits);
    const double mantissa = std::bit_cast<double>(fraction | (std::uint64_t{1023} << 52U));
    const double r = mantissa * inverse_[i] - 1.0;  // below 2^-12
    return static_cast<double>(exponent) * kLn2 + log_[i] + r * (1.0 - r * (0.5 - r * (1.0 / 3.0)));
  }

 private:
  static constexpr unsigned kBits = 11;
  static constexpr std::size_t kSize = std::size_t{1} << kBits;
  std::array<double, kSize> inverse_{};
  std::array<double, kSize> log_{};
};

}  // namespace

FractionalKl::FractionalKl(std::span<const double> weights, std::int64_t levels, double smoothing)
    : levels_(levels) {
  const auto bins = static_cast<std::int64_t>(weights.size());
  QTOOL_CHECK(levels >= 1 && bins > levels);
  static const LogTable log;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> before(weights.size() + 1);   // sum of the bins below
  std::vector<double> entropy(weights.size() + 1);  // of p ln p, smoothed
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double p = weights[j] + smoothing;
    before[j + 1] = before[j] + weights[j];
    entropy[j + 1] = entropy[j] + p * std::log(p);
  }
  divergences_.reserve(at(bins - levels));
  for (std::int64_t kept = levels; kept < bins; ++kept) {
    const double edge = weights[at(kept - 1)] + smoothing;
    const double tail = before[at(bins)] - before[at(kept)];
    double divergence = entropy[at(kept)] - edge * log(edge) + (edge + tail) * log(edge + tail);
    const double per_bin = static_cast<double>(levels) / static_cast<double>(kept);
    double weight_before = 0.0;  // below the level's start
    double earlier = 0.0;        // mean weight of the level before
    double earlier_part = 0.0;   // how much of the bin cut by the start belongs to that level
    std::int64_t whole = 0;      // first bin that begins inside the level
    for (std::int64_t level = 0; level < levels; ++level) {
      // The level ends at (level + 1) kept / levels.
      const std::int64_t end = (level + 1) * kept / levels;
      const double cut =
          static_cast<double>((level + 1) * kept % levels) / static_cast<double>(levels);
      const double upto = before[at(end)] + (cut > 0.0 ? cut * weights[at(end)] : 0.0);
      const double mean = (upto - weight_before) * per_bin;
      if (earlier_part > 0.0) {
        const double shared = earlier_part * earlier + (1.0 - earlier_part) * mean;
        divergence -= (weights[at(whole - 1)] + smoothing) * log(shared + smoothing);
      }
      const double inside = before[at(end)] - before[at(whole)] +
                            smoothing * static_cast<double>(end - whole) +
                            (level == levels - 1 ? tail : 0.0);
      if (inside > 0.0) divergence -= inside * log(mean + smoothing);
      weight_before = upto;
      earlier = mean;
      earlier_part = cut;
      whole = cut > 0.0 ? end + 1 : end;
    }
    divergences_.push_back(divergence);
  }
}

std::int64_t FractionalKl::best() const noexcept {
  return levels_ +
         (std::min_element(divergences_.begin(), divergences_.end()) - divergences_.begin());
}

}  // namespace qtool
