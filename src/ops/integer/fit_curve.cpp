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

namespace qtool {
namespace {

constexpr double kPositions = 65536.0;
constexpr std::size_t kNodes = Curve::kCoefficients;
// The product with the fraction of the factor 1 gives the units of a step.
constexpr double kUnits = Curve::kUnits * 32768.0 / CurveFactor::kOne;
constexpr double kMostError = 0.02;   // of a step, in the middle of a position
constexpr double kMostChange = 0.02;  // of a step, from there to the end of the position

// A function whose results are counted in steps of the bytes, from the zero point.
class FunctionInSteps {
 public:
  FunctionInSteps(const RealFunction& function, const Affine& rounding)
      : function_(function), rounding_(rounding) {}

  // The steps of the first and the last byte.
  [[nodiscard]] double first() const { return -rounding_.zero_point; }
  [[nodiscard]] double last() const { return 255.0 - rounding_.zero_point; }
  // What lies beyond the bytes does not count.
  [[nodiscard]] double within_bytes(double steps) const {
    return std::clamp(steps, first(), last());
  }

  [[nodiscard]] std::vector<double> at(const std::vector<float>& x) const {
    std::vector<float> y(x.size());
    function_(x, y);
    std::vector<double> steps;
    steps.reserve(y.size());
    for (const float value : y) {
      steps.push_back(static_cast<double>(value) / static_cast<double>(rounding_.scale));
    }
    return steps;
  }

 private:
  const RealFunction& function_;
  const Affine& rounding_;
};

// One end of the domain, beyond which the function stays the same, but for kMostError.
struct End {
  double reach = 0.0;        ///< its magnitude
  double limit = 0.0;        ///< the function beyond it, within the bytes
  bool above_bytes = false;  ///< the function exceeds the bytes beyond it
};

// The index of the first number from which on the function is `limit`.
std::size_t first_constant(const FunctionInSteps& steps, const std::vector<float>& x,
                           double limit) {
  const std::vector<double> y = steps.at(x);
  std::size_t at = y.size();
  while (at > 0 && std::abs(steps.within_bytes(y[at - 1]) - limit) <= kMostError) --at;
  return at;
}

// The end of the domain on the side of the sign of `unit`, a step of the result. Nothing if the
// function still changes at the largest magnitudes tried, 2^20 steps.
std::optional<End> end_of(const FunctionInSteps& steps, double unit) {
  constexpr int kPoints = 16;  // for each octave
  std::vector<float> x;
  for (int i = -8 * kPoints; i <= 20 * kPoints; ++i) {
    x.push_back(static_cast<float>(unit * std::exp2(static_cast<double>(i) / kPoints)));
  }
  const double far = steps.at({x.back()})[0];
  if (std::isnan(far)) return std::nullopt;
  End end{0.0, steps.within_bytes(far), far > steps.last() + 0.5};
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

// The segments below 0, and the width of a segment.
struct Division {
  std::int32_t below = 0;
  double width = 0.0;
};

// The ways to divide the domain into at most `all` segments, the likeliest first. Two segments meet
// at 0. Where the function exceeds the bytes, the last segment ends with the domain, because larger
// values might not fit into 16 bits. In the other divisions, segments meet at the kinks of a hard
// swish.
std::vector<Division> divisions_of(const End& below, const End& above, std::int32_t all) {
  const bool exact_below = below.above_bytes;
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

// The number that has the position `p`, which may lie between two positions.
double number_at(const Curve& curve, double p) {
  return (p - static_cast<double>(curve.offset)) / static_cast<double>(curve.scale);
}

// The coefficients of 1, t, t^2 and t^3 of the polynomial through the points (nodes[i], y[i]):
// Newton's divided differences, then Horner's scheme.
std::array<double, kNodes> interpolate(const std::array<double, kNodes>& nodes, const double* y) {
  std::array<double, kNodes> differences;
  std::copy_n(y, kNodes, differences.begin());
  for (std::size_t order = 1; order < kNodes; ++order) {
    for (std::size_t i = kNodes - 1; i >= order; --i) {
      differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - order]);
    }
  }
  std::array<double, kNodes> polynomial{};
  for (std::size_t k = kNodes; k-- > 0;) {
    for (std::size_t i = kNodes - 1; i > 0; --i) {
      polynomial[i] = polynomial[i - 1] - nodes[k] * polynomial[i];
    }
    polynomial[0] = differences[k] - nodes[k] * polynomial[0];
  }
  return polynomial;
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
bool fits(const FunctionInSteps& steps, const Curve& curve, const End& below, const End& above) {
  const auto close = [&](std::int32_t p, double exact, double most) {
    const double value = steps.within_bytes(curve_value(curve, p) / kUnits);
    return std::abs(value - steps.within_bytes(exact)) <= most;  // false for NaN
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
  const FunctionInSteps steps(function, rounding);
  const auto unit = static_cast<double>(rounding.scale);
  const std::optional<End> below = end_of(steps, -unit);
  const std::optional<End> above = end_of(steps, unit);
  if (!below || !above || (below->above_bytes && above->above_bytes)) return std::nullopt;
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
