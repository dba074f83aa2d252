// Fits the polynomials of a curve to a function. The polynomial of a segment goes through four of
// its points, the zeros of the Chebyshev polynomial of degree 4, so that its error is near the
// smallest possible one (interpolation at Chebyshev nodes).
#include "ops/integer/fit_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/curve_byte.h"
#include "ops/integer/curve_domain.h"

namespace qtool {
namespace {

constexpr double kPositions = 65536.0;
constexpr std::size_t kNodes = Curve::kCoefficients;
// The product with the fraction of the factor 1 gives the units of a step.
constexpr double kUnits = Curve::kUnits * 32768.0 / CurveFactor::kOne;
constexpr double kMostError = 0.02;   // of a step, in the middle of a position
constexpr double kMostChange = 0.02;  // of a step, from there to the end of the position

// The number that has the position `p`, which may lie between two positions.
double number_at(const Curve& curve, double p) {
  return (p - static_cast<double>(curve.offset)) / static_cast<double>(curve.scale);
}

void fit_segments(const FunctionInSteps& steps, Curve& curve) {
  // cos((2 i + 1) pi / 8)
  constexpr std::array<double, kNodes> kPlaces = {-0.9238795325112867, -0.3826834323650898,
                                                  0.3826834323650898, 0.9238795325112867};
  std::vector<float> x;
  const double length = kPositions / curve.segments();
  for (std::int32_t n = 0; n < curve.segments(); ++n) {
    for (const double place : kPlaces) {
      const double p = (n + 0.5 + 0.5 * place) * length - kPositions / 2;
      x.push_back(static_cast<float>(number_at(curve, p)));
    }
  }
  const std::vector<double> y = steps.at(x);
  const auto segments = static_cast<std::size_t>(curve.segments());
  for (std::size_t n = 0; n < segments; ++n) {
    const std::size_t s = (n + segments / 2) % segments;  // see Curve: negative positions
    const std::array<double, kNodes> polynomial = interpolate(kPlaces, y.data() + n * kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      const double units = polynomial[i] * kUnits;
      const auto word = static_cast<std::int32_t>(
          std::nearbyint(std::isnan(units) ? 0.0 : std::clamp(units, -32768.0, 32767.0)));
      curve.low[i][s] = static_cast<std::uint8_t>(word & 0xff);
      curve.high[i][s] = static_cast<std::uint8_t>(word >> 8 & 0xff);
    }
  }
}

// The positions at which a curve is compared with its function: some in each segment, and both ends
// of it, where the error is largest if there is a kink nearby.
std::vector<std::int32_t> compared_positions(const Curve& curve) {
  constexpr std::int32_t kGap = 67;  // a prime, so that the places in the segments differ
  const std::int32_t length = 1 << curve.place_bits;
  std::vector<std::int32_t> positions;
  for (std::int32_t begin = -32768; begin < 32768; begin += length) {
    positions.push_back(begin);
    for (std::int32_t p = begin + kGap; p < begin + length - 1; p += kGap) positions.push_back(p);
    positions.push_back(begin + length - 1);
  }
  return positions;
}

// Whether the values of the curve are close enough to those of the function, for the numbers in the
// middle and at both ends of the compared positions.
bool fits(const FunctionInSteps& steps, const Curve& curve, const DomainEnd& below,
          const DomainEnd& above) {
  const auto close = [&](std::int32_t p, double exact, double most) {
    const double value = steps.within_integers(curve_value(curve, p) / kUnits);
    return std::abs(value - steps.within_integers(exact)) <= most;  // false for NaN
  };
  constexpr double kMostAtEnd = kMostError + kMostChange;
  if (!close(-32768, below.limit, kMostAtEnd) || !close(32767, above.limit, kMostAtEnd)) {
    return false;
  }
  const std::vector<std::int32_t> positions = compared_positions(curve);
  constexpr std::size_t kPlaces = 3;
  std::vector<float> x;
  for (const std::int32_t p : positions) {
    for (const double place : {-0.5, 0.0, 0.5}) {
      x.push_back(static_cast<float>(number_at(curve, p + place)));
    }
  }
  const std::vector<double> y = steps.at(x);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double most = kMostError + (i % kPlaces == 1 ? 0.0 : kMostChange);
    if (!close(positions[i / kPlaces], y[i], most)) return false;
  }
  return true;
}

}  // namespace

std::optional<Curve> fit_curve(const RealFunction& function, const Affine& rounding) {
  const FunctionInSteps steps(function, static_cast<double>(rounding.scale), -rounding.zero_point,
                              255.0 - rounding.zero_point, kMostError);
  const auto unit = static_cast<double>(rounding.scale);
  const std::optional<DomainEnd> below = domain_end(steps, -unit);
  const std::optional<DomainEnd> above = domain_end(steps, unit);
  if (!below || !above || (below->above_integers && above->above_integers)) return std::nullopt;
  for (const std::int32_t place_bits : {12, 11}) {
    Curve curve;
    curve.place_bits = place_bits;
    curve.zero_point = rounding.zero_point;
    for (const Division& division : divisions_of(*below, *above, curve.segments())) {
      const double length = kPositions / curve.segments();
      curve.scale = static_cast<float>(length / division.width);
      curve.offset = static_cast<float>(division.below * length - kPositions / 2);
      if (!std::isnormal(curve.scale)) continue;
      fit_segments(steps, curve);
      if (fits(steps, curve, *below, *above)) return curve;
    }
  }
  return std::nullopt;
}

}  // namespace qtool
