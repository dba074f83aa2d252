#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// What the fits of curves share: the domain of a function, its division into segments, and the
// polynomial of a segment.
namespace qtool {

/// A real function of one number: reads and writes `in.size()` of them.
using RealFunction = std::function<void(std::span<const float> in, std::span<float> out)>;

/// A function whose results are counted in steps of the integers that they become, from the zero
/// point. Keeps a reference to the function.
class FunctionInSteps {
 public:
  /// `first`, `last`: the steps of the first and the last integer; `tolerance`: the difference, in
  /// steps, that does not count when the domain is found.
  FunctionInSteps(const RealFunction& function, double scale, double first, double last,
                  double tolerance)
      : function_(function), scale_(scale), first_(first), last_(last), tolerance_(tolerance) {}

  [[nodiscard]] double last() const { return last_; }
  [[nodiscard]] double tolerance() const { return tolerance_; }
  /// What lies beyond the integers does not count.
  [[nodiscard]] double within_integers(double steps) const;
  [[nodiscard]] std::vector<double> at(const std::vector<float>& x) const;

 private:
  const RealFunction& function_;
  double scale_;
  double first_;
  double last_;
  double tolerance_;
};

/// One end of the domain, beyond which the function stays the same, but for the tolerance.
struct DomainEnd {
  double reach = 0.0;           ///< its magnitude
  double limit = 0.0;           ///< the function beyond it, within the integers
  bool above_integers = false;  ///< the function exceeds the integers beyond it
};

/// The end of the domain on the side of the sign of `unit`, which is about the range of the results
/// divided by 256. std::nullopt if the function still changes at the largest magnitudes tried, 2^20
/// units.
std::optional<DomainEnd> domain_end(const FunctionInSteps& steps, double unit);

/// The segments below 0, and the width of a segment.
struct Division {
  std::int32_t below = 0;
  double width = 0.0;
};

/// The ways to divide the domain into at most `all` segments, the likeliest first. Two segments
/// meet at 0. Where the function exceeds the integers, the last segment ends with the domain. In
/// the other divisions, segments meet at the kinks of a hard swish.
std::vector<Division> divisions_of(const DomainEnd& below, const DomainEnd& above,
                                   std::int32_t all);

/// The coefficients of 1, t, t^2 ... of the polynomial through the points (nodes[i], y[i]):
/// Newton's divided differences, then Horner's scheme.
template <std::size_t kNodes>
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

}  // namespace qtool
