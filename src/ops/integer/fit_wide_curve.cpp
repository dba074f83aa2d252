// Fits the polynomials of a wide curve to a function. The polynomial of a segment goes through five
// of its points, the zeros of the Chebyshev polynomial of degree 5, so that its error is near the
// smallest possible one (interpolation at Chebyshev nodes).
#include "ops/integer/fit_wide_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/wide_curve/value.h"

namespace qtool {
namespace {

constexpr std::size_t kWideNodes = WideCurve::kCoefficients;
// Of a step of the low byte, with the largest factor.
constexpr double kMostWideError = 1.0;
// Likewise, where the domain is cut off.
constexpr double kMostAtCut = 0.125;
constexpr std::int32_t kPointsInSegment = 64;

// The number above which the function is a line until it leaves the integers, if that is clearly
// before `above`.
std::optional<double> line_begin(const FunctionInSteps& steps, const DomainEnd& above) {
  if (!above.above_integers) return std::nullopt;
  constexpr int kParts = 64;
  std::vector<float> x;
  for (int i = 0; i <= kParts; ++i) x.push_back(static_cast<float>(above.reach * i / kParts));
  const std::vector<double> y = steps.at(x);
  const auto is_line = [&](std::size_t from) {
    const double slope = (y.back() - y[from]) / static_cast<double>(kParts - from);
    for (std::size_t i = from; i < y.size(); ++i) {
      const double on_line = y[from] + slope * static_cast<double>(i - from);
      if (!(std::abs(y[i] - on_line) <= steps.tolerance())) return false;
    }
    return true;
  };
  for (std::size_t from = 1; from < kParts * 3 / 4; ++from) {
    if (is_line(from)) return static_cast<double>(x[from]);
  }
  return std::nullopt;
}

double number_of(const WideCurve& curve, double position) {
  return (position - static_cast<double>(curve.offset)) / static_cast<double>(curve.scale);
}

// The coefficients of a segment are those of t from 0 to 1: the polynomial of u = 2 t - 1,
// expanded.
std::array<double, kWideNodes> in_place(const std::array<double, kWideNodes>& polynomial) {
  std::array<double, kWideNodes> result{};
  for (std::size_t i = kWideNodes; i-- > 0;) {
    for (std::size_t k = kWideNodes - 1; k > 0; --k) result[k] = 2.0 * result[k - 1] - result[k];
    result[0] = polynomial[i] - result[0];
  }
  return result;
}

void set_segment(WideCurve& curve, std::size_t segment,
                 const std::array<double, kWideNodes>& coefficients) {
  for (std::size_t i = 0; i < kWideNodes; ++i) {
    curve.coefficients[i][segment] = static_cast<float>(coefficients[i]);
  }
}

void fit_wide_segments(const FunctionInSteps& steps, std::int32_t segments, WideCurve& curve) {
  // cos((2 i + 1) pi / 10)
  constexpr std::array<double, kWideNodes> kPlaces = {-0.9510565162951535, -0.5877852522924731, 0.0,
                                                      0.5877852522924731, 0.9510565162951535};
  std::vector<float> x;
  for (std::int32_t s = 0; s < segments; ++s) {
    for (const double place : kPlaces) {
      x.push_back(static_cast<float>(number_of(curve, s + 0.5 + 0.5 * place)));
    }
  }
  const std::vector<double> y = steps.at(x);
  for (std::size_t s = 0; s < static_cast<std::size_t>(segments); ++s) {
    set_segment(curve, s, in_place(interpolate(kPlaces, y.data() + s * kWideNodes)));
  }
}

// Makes the last segment a line through the function at both of its ends.
void add_line(const FunctionInSteps& steps, double reach, WideCurve& curve) {
  constexpr std::int32_t kLast = WideCurve::kSegments - 1;
  const double from = number_of(curve, kLast);
  const std::vector<double> y =
      steps.at({static_cast<float>(from), static_cast<float>(std::max(reach, from))});
  const double slope = reach > from ? (y[1] - y[0]) / (reach - from) : 0.0;
  set_segment(curve, kLast, {y[0], slope / static_cast<double>(curve.scale)});
  curve.last = WideCurve::kLastOnLine;
}

// Whether the values of the curve are within `most` steps of those of the function: in all
// segments, and twice as far on both sides.
bool fits_widely(const FunctionInSteps& steps, const WideCurve& curve, double reach, double most) {
  std::vector<float> x;
  for (std::int32_t i = 0; i <= WideCurve::kSegments * kPointsInSegment; ++i) {
    x.push_back(static_cast<float>(number_of(curve, static_cast<double>(i) / kPointsInSegment)));
  }
  for (std::int32_t i = 0; i <= 2 * kPointsInSegment; ++i) {
    const double part = static_cast<double>(i) / kPointsInSegment;
    x.push_back(static_cast<float>(reach * part));
    x.push_back(static_cast<float>(number_of(curve, 0.0) * part));
  }
  const std::vector<double> y = steps.at(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<double>(wide_curve_value(curve, x[i]));
    const double error = steps.within_integers(value) - steps.within_integers(y[i]);
    if (!(std::abs(error) <= most)) return false;  // NaN too
  }
  return true;
}

}  // namespace

std::optional<WideCurve> fit_wide_curve(const RealFunction& function, const Affine& high,
                                        const FactorRange& factors) {
  const double unit = static_cast<double>(high.scale) / static_cast<double>(factors.smallest);
  const double ratio = static_cast<double>(factors.largest) / static_cast<double>(factors.smallest);
  constexpr double kSteps = WideCurve::kSteps;
  // With the smallest factor. A step is that of the low byte.
  const FunctionInSteps steps(function, unit / kSteps, -kSteps * (high.zero_point + 0.5),
                              kSteps * (255.5 - high.zero_point), kMostAtCut / ratio);
  const std::optional<DomainEnd> below = domain_end(steps, -unit);
  const std::optional<DomainEnd> above = domain_end(steps, unit);
  if (!below || !above || (below->above_integers && above->above_integers)) return std::nullopt;
  const std::optional<double> line = line_begin(steps, *above);
  const DomainEnd bent = line ? DomainEnd{*line, above->limit, true} : *above;
  const std::int32_t segments = WideCurve::kSegments - (line ? 1 : 0);
  for (const Division& division : divisions_of(*below, bent, segments)) {
    WideCurve curve;
    curve.scale = static_cast<float>(1.0 / division.width);
    curve.offset = static_cast<float>(division.below);
    curve.start = static_cast<float>(kSteps * high.zero_point + 127.5);
    if (!std::isnormal(curve.scale)) continue;
    fit_wide_segments(steps, segments, curve);
    if (line) add_line(steps, above->reach, curve);
    if (!fits_widely(steps, curve, above->reach, kMostWideError / ratio)) continue;
    // The values are those of the function itself, before the factor. They may be beyond floats.
    for (auto& of_power : curve.coefficients) {
      for (float& c : of_power) {
        const float divided = c / factors.smallest;
        if (c != 0.0F && !std::isnormal(divided)) return std::nullopt;
        c = divided;
      }
    }
    return curve;
  }
  return std::nullopt;
}

}  // namespace qtool
