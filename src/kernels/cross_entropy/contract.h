#pragma once

#include <cstdint>

namespace qtool {

/// A histogram whose first bins are quantized to `levels` intervals of equal width.
struct LevelledHistogram {
  const double* weights;  // one per bin
  const double* below;    // below[i + 1] = below[i] + weights[i], below[0] = 0
  std::int64_t levels;
  double smoothing;  // added to every bin of both distributions
};

struct CrossEntropyFunctions {
  /// The sum of P ln Q over the first `kept` bins; the histogram has at least one more bin. 1 <=
  /// levels <= kept and levels * kept <= kCrossEntropyMax. Level l is the interval [l kept /
  /// levels, (l + 1) kept / levels), which may cut bins at both ends. P is the weight of a bin;
  /// `tail` is added to that of the last of these bins. Q is the mean weight of the level; a bin
  /// that is cut between two levels has the mean of both, weighted by its parts. A term with Q = 0
  /// contributes about -709 P. P is tiny in such a term: only the smoothing, or a weight so small
  /// that the prefix sums lose it. The result is within 1e-12 of the reference for weights that sum
  /// to 1 and Q of 1e-4 or more (the limit is cancellation in the prefix sums). All kernels are
  /// compiled from the same code, stages.h, and give the same bits, vectorized or not. `scratch`
  /// has room for kCrossEntropyScratch * (levels + 1) numbers.
  double (*run)(const LevelledHistogram& histogram, std::int64_t kept, double tail,
                double* scratch);
  /// Replaces every value by its logarithm, with the same bits as logarithm() in logarithm.h. The
  /// values must be positive and normal, or 0.
  void (*logarithms)(double* values, std::int64_t count);
};

/// The upper limit of levels * kept. Up to it, kernels find the bins at the edges of levels exactly
/// in double precision.
inline constexpr std::int64_t kCrossEntropyMax = std::int64_t{1} << 40;
inline constexpr std::int64_t kCrossEntropyScratch = 10;

#define QTOOL_KERNEL(name) extern const CrossEntropyFunctions cross_entropy_##name;
#include "kernels/cross_entropy/cross_entropy.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
