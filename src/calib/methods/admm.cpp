#include "calib/methods/scale_problem.h"
#include "calib/statistics.h"

namespace qtool {
namespace {

constexpr int kAdmmIterations = 300;
constexpr double kAdmmStart = 2.5;

}  // namespace

/// Alternates q = clamp(round(x / s)) and s = sum(x q) / sum(q^2) until s no longer changes, for at
/// most 300 rounds. It starts with the scale without saturation, divided by 2.5. Each step is
/// exact, so the method cannot diverge, but it converges slowly and stops in the first local
/// minimum: expect 1.0 to 1.3 times the noise of `mse`. Works on the density of all values instead
/// of a sample, so that it cannot stall on a rounding pattern. Cost: 2 to 3 ms. Source: MNN,
/// tools/quantization, ADMM of features. Differs from source: the start is relative to the widest
/// scale of the scheme (for symmetric int8 this is the start of the source), and the method ends at
/// a fixed point.
Range method_admm(const Statistics& statistics, const MethodOptions& options) {
  const ScaleProblem problem(statistics, options.scheme);
  if (problem.trivial()) return statistics.range();
  double scale = problem.largest_scale() / kAdmmStart;
  for (int iteration = 0; iteration < kAdmmIterations; ++iteration) {
    const Density::Projection projection = problem.project(scale);
    if (!(projection.qq > 0.0) || !(projection.xq > 0.0)) break;  // everything rounds to zero
    const double next = projection.xq / projection.qq;
    if (next == scale) break;
    scale = next;
  }
  return problem.range_of(scale);
}

}  // namespace qtool
