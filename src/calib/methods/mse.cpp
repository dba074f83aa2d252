#include <algorithm>

#include "calib/methods/scale_problem.h"
#include "calib/statistics.h"

namespace qtool {
namespace {

constexpr int kGrid = 128;
constexpr int kSteps = 24;  // two grid cells times 0.618^24: 1.5e-7 of the range

}  // namespace

/// The range with the least squared error: a grid search on the scale, then golden section. If
/// there are values of both signs and the zero point is free, each end of the range is then
/// searched in turn. Clipping and rounding errors have the same weight here. But clipping errors
/// have a common sign and therefore add up in a consumer that sums many values. Cost: 1.5 ms.
/// Source: the least squares of MNN's calibration (ALGORITHM: ADMM), solved directly.
Range method_mse(const Statistics& statistics, const MethodOptions& options) {
  const Range observed = statistics.range();
  const ScaleProblem problem(statistics, options.scheme);
  if (problem.trivial()) return observed;
  const double scale = grid_then_golden(problem.largest_scale(), kGrid, kSteps,
                                        [&](double s) { return problem.noise(s); });
  Range range = problem.range_of(scale);
  if (options.scheme.symmetry == Symmetry::kSymmetric || observed.min == 0.0F ||
      observed.max == 0.0F) {
    return range;
  }
  for (int round = 0; round < 2; ++round) {
    Range other = range;
    other.max = static_cast<float>(grid_then_golden(observed.max, kGrid, kSteps, [&](double end) {
      return problem.noise_of({range.min, static_cast<float>(end)});
    }));
    other.min =
        -static_cast<float>(grid_then_golden(-double{observed.min}, kGrid, kSteps, [&](double end) {
          return problem.noise_of({-static_cast<float>(end), other.max});
        }));
    if (problem.noise_of(other) < problem.noise_of(range)) range = other;
  }
  return range;
}

}  // namespace qtool
