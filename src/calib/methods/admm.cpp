#include "calib/methods/scale_search.h"

namespace qtool {
namespace {

constexpr int kIterations = 300;
constexpr double kStart = 2.5;

}  // namespace

/// Alternates q = clamp(round(x / s)) and s = sum(x q) / sum(q^2), from the scale without
/// saturation divided by 2.5, until s stays or 300 rounds are over. Each step is exact, so that it
/// cannot diverge, but it crawls and stops in the first valley: expect 1.0 to 1.3 times the noise
/// of `mse`. Works on the density of all values, not on a sample, which has no grid for the
/// rounding pattern to freeze on. Cost: 2 to 3 ms. Source: MNN, tools/quantization, ADMM of
/// features. Differs from source: the start is relative to the scheme's own widest scale (the same
/// for symmetric int8), and a fixed point ends it.
Range method_admm(const Statistics& statistics, const MethodOptions& options) {
  const ScaleProblem problem(statistics, options.scheme);
  if (problem.trivial()) return statistics.range();
  double scale = problem.largest_scale() / kStart;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const Density::Projection projection = problem.project(scale);
    if (!(projection.qq > 0.0) || !(projection.xq > 0.0)) break;  // everything rounds to zero
    const double next = projection.xq / projection.qq;
    if (next == scale) break;
    scale = next;
  }
  return problem.range_of(scale);
}

}  // namespace qtool
