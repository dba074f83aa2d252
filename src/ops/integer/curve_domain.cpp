#include "ops/integer/curve_domain.h"

#include <cmath>

namespace qtool {
namespace {

// The index of the first number from which on the function is `limit`.
std::size_t first_constant(const FunctionInSteps& steps, const std::vector<float>& x,
                           double limit) {
  const std::vector<double> y = steps.at(x);
  std::size_t at = y.size();
  while (at > 0 && std::abs(steps.within_integers(y[at - 1]) - limit) <= steps.tolerance()) --at;
  return at;
}

}  // namespace

double FunctionInSteps::within_integers(double steps) const {
  return std::clamp(steps, first_, last_);
}

std::vector<double> FunctionInSteps::at(const std::vector<float>& x) const {
  std::vector<float> y(x.size());
  function_(x, y);
  std::vector<double> steps;
  steps.reserve(y.size());
  for (const float value : y) steps.push_back(static_cast<double>(value) / scale_);
  return steps;
}

std::optional<DomainEnd> domain_end(const FunctionInSteps& steps, double unit) {
  constexpr int kPoints = 16;  // for each octave
  std::vector<float> x;
  for (int i = -8 * kPoints; i <= 20 * kPoints; ++i) {
    x.push_back(static_cast<float>(unit * std::exp2(static_cast<double>(i) / kPoints)));
  }
  const double far = steps.at({x.back()})[0];
  if (std::isnan(far)) return std::nullopt;
  DomainEnd end{0.0, steps.within_integers(far), far > steps.last() + 0.5};
  const std::size_t at = first_constant(steps, x, end.limit);
  if (at == 0) return end;
  if (x.size() - at < kPoints) return std::nullopt;
  // The same between two of these numbers, for a finer result.
  constexpr int kParts = 64;
  std::vector<float> parts;
  for (int i = 0; i <= kParts; ++i) {
    parts.push_back(x[at - 1] + (x[at] - x[at - 1]) * (static_cast<float>(i) / kParts));
  }
  const std::size_t finer = std::min<std::size_t>(first_constant(steps, parts, end.limit), kParts);
  end.reach = std::abs(static_cast<double>(parts[finer]));
  return end;
}

std::vector<Division> divisions_of(const DomainEnd& below, const DomainEnd& above,
                                   std::int32_t all) {
  const bool exact_below = below.above_integers;
  const double exact = exact_below ? below.reach : above.reach;
  const double other = exact_below ? above.reach : below.reach;
  std::vector<Division> divisions;
  const auto add = [&](std::int32_t segments, double width) {
    divisions.push_back({exact_below ? segments : all - segments, width});
  };
  if (exact <= 0.0) add(0, other / all);
  for (std::int32_t n = all; n > 0 && divisions.empty(); --n) {
    const double width = exact / n;
    if (std::ceil(other / width) <= all - n) add(n, width);
  }
  constexpr double kKink = 3.0;
  for (std::int32_t n = all; n > 0; --n) {
    const double width = kKink / n;
    const double segments = std::ceil(exact / width);
    if (segments + std::ceil(other / width) > all) continue;
    add(static_cast<std::int32_t>(segments), width);
  }
  return divisions;
}

}  // namespace qtool
