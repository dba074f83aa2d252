#pragma once

#include <cstdint>

namespace qtool {

/// A histogram whose first bins are quantized to `levels` equal stretches.
struct LevelledHistogram {
  const double* weights;  // by bin
  const double* below;    // below[i + 1] = below[i] + weights[i], below[0] = 0
  std::int64_t levels;
  double smoothing;  // added to every bin of both distributions
};

struct CrossEntropyFunctions {
  /// Sum of P ln Q over the first `kept` bins, of which there is one more at least; 1 <= levels <=
  /// kept and levels * kept <= kCrossEntropyMost. Level l is the stretch
  /// [l kept / levels, (l + 1) kept / levels), which cuts bins at both ends. P is the weights, the
  /// last bin's with `tail` added; Q is the mean weight of the level, and for a bin cut between two
  /// levels the mean of both by its parts. A term with Q = 0 counts about -709 P: smoothing, or
  /// weights that prefix sums do not lose, keep P tiny there.
  /// Right to 1e-12 against the reference for weights that sum to 1 and Q of 1e-4 or more (prefix
  /// sums cancel). All kernels are the one text of stages.h and give the same bits, vectors or not.
  /// `scratch` has room for kCrossEntropyScratch * (levels + 1) numbers.
  double (*run)(const LevelledHistogram& histogram, std::int64_t kept, double tail,
                double* scratch);
  /// Replaces every value, positive and normal or 0, by its logarithm as logarithm.h computes it,
  /// bit for bit.
  void (*logarithms)(double* values, std::int64_t count);
};

/// The bins of edges are found in double precision, which is exact to here and beyond.
inline constexpr std::int64_t kCrossEntropyMost = std::int64_t{1} << 40;
inline constexpr std::int64_t kCrossEntropyScratch = 10;

#define QTOOL_KERNEL(name, isa) extern const CrossEntropyFunctions cross_entropy_##name;
#include "kernels/cross_entropy/cross_entropy.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
