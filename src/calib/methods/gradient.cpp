#include <cmath>

#include "calib/methods/scale_problem.h"
#include "calib/statistics.h"

namespace qtool {
namespace {

constexpr int kGradientSteps = 100;
constexpr int kLineSteps = 24;
constexpr double kSettled = 1e-7;  // relative change of the scale

}  // namespace

/// Gradient descent on L(s), the squared error with scale s: dL/ds = -2 sum (x - s q) q. The
/// integers q are held fixed, because their derivative is zero almost everywhere. Golden section
/// finds the length of each step, at most a quarter of the scale. The method starts at the scale
/// without saturation and ends in the nearest local minimum; `mse` compares several minima. Cost: 1
/// ms.
/// Source: gradient with line search of the MNN calibration article (least squares on the scale).
Range method_gradient(const Statistics& statistics, const MethodOptions& options) {
  const ScaleProblem problem(statistics, options.scheme);
  if (problem.trivial()) return statistics.range();
  double scale = problem.largest_scale();
  double least = problem.noise(scale);
  for (int iteration = 0; iteration < kGradientSteps; ++iteration) {
    const Density::Projection projection = problem.project(scale);
    const double slope = -2.0 * (projection.xq - scale * projection.qq);
    if (slope == 0.0) break;
    const double reach = std::copysign(0.25 * scale, -slope);
    const double next = scale + golden_section(0.0, 1.0, kLineSteps, [&](double step) {
                                  return problem.noise(scale + step * reach);
                                }) * reach;
    const double noise = problem.noise(next);
    if (!(noise < least)) break;
    const bool settled = std::abs(next - scale) < kSettled * scale;
    scale = next;
    least = noise;
    if (settled) break;
  }
  return problem.range_of(scale);
}

}  // namespace qtool
