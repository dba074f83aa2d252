#include "compare/jackknife.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace qtool {
namespace {

/// Two-sided 95 % quantiles of Student's t for 1 to 31 degrees of freedom.
constexpr std::array<double, kJackknifeGroups - 1> kStudent{
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
    2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
    2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.040};

}  // namespace

std::optional<std::array<double, 2>> jackknife_interval(double estimate,
                                                        std::span<const double> without_group) {
  const std::size_t groups = without_group.size();
  if (groups < 2 || !std::isfinite(estimate)) return std::nullopt;
  const auto count = static_cast<double>(groups);
  double mean = 0.0;
  for (const double value : without_group) mean += value / count;
  double squares = 0.0;
  for (const double value : without_group) squares += (value - mean) * (value - mean);
  const double error = std::sqrt((count - 1.0) / count * squares);
  if (!std::isfinite(error)) return std::nullopt;
  const double half = kStudent[std::min(groups - 2, kStudent.size() - 1)] * error;
  return std::array{estimate - half, estimate + half};
}

}  // namespace qtool
