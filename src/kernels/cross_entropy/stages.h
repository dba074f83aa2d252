#pragma once

#include <cstdint>

#include "kernels/cross_entropy/contract.h"
#include "kernels/logarithm.h"

// The code of all kernels of the family: loops without branches, which the compiler vectorizes for
// the instruction set of the file that includes it.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

[[gnu::always_inline]] inline double cross_entropy(const LevelledHistogram& histogram,
                                                   std::int32_t levels, std::int64_t kept,
                                                   double tail, double* __restrict scratch) {
  constexpr std::int32_t kSums = 8;
  const double* const __restrict weights = histogram.weights;
  const double* const __restrict below = histogram.below;
  const double smoothing = histogram.smoothing;
  const auto count = static_cast<double>(levels);
  const double per_level = 1.0 / count;
  const double per_bin = count / static_cast<double>(kept);
  // Five arrays describe the edge before each level. `bins`: the bin that the edge cuts. `cuts`:
  // the weight of this bin. `parts`: the part of this bin that lies below the edge. `before`: the
  // weight of all bins below this bin. `uptos`: the weight below the edge.
  const std::int64_t edges = levels + 1;
  double* const __restrict bins = scratch;
  double* const __restrict cuts = scratch + edges;
  double* const __restrict parts = scratch + 2 * edges;
  double* const __restrict before = scratch + 3 * edges;
  double* const __restrict uptos = scratch + 4 * edges;
  double* const __restrict means = scratch + 5 * edges;  // [l + 1]: mean of level l; [0]: 0
  // P and Q. The first `levels` entries are for the bin that the start of each level cuts. The next
  // `levels` entries are for all bins that begin inside each level.
  double* const __restrict ps = scratch + 6 * edges;
  double* const __restrict qs = scratch + 8 * edges;
  for (std::int32_t l = 0; l <= levels; ++l) {
    const double edge = static_cast<double>(l) * static_cast<double>(kept);  // in 1 / levels bins
    // Adding one half keeps the quotient away from integers, so that rounding it cannot change the
    // bin.
    const auto bin = static_cast<std::int32_t>((edge + 0.5) * per_level);
    bins[l] = static_cast<double>(bin);
    cuts[l] = weights[bin];
    before[l] = below[bin];
    parts[l] = (edge - bins[l] * count) * per_level;
    uptos[l] = before[l] + parts[l] * cuts[l];
  }
  means[0] = 0.0;
  for (std::int32_t l = 0; l < levels; ++l) means[l + 1] = (uptos[l + 1] - uptos[l]) * per_bin;
  for (std::int32_t l = 0; l < levels; ++l) {
    const double cut = parts[l] > 0.0 ? 1.0 : 0.0;  // 0 if the level starts at a bin edge
    ps[l] = cut * (cuts[l] + smoothing);
    qs[l] = parts[l] * means[l] + (1.0 - parts[l]) * means[l + 1];
    // The bins that begin inside the level.
    ps[levels + l] =
        before[l + 1] - (before[l] + cut * cuts[l]) + smoothing * (bins[l + 1] - (bins[l] + cut));
    qs[levels + l] = means[l + 1];
  }
  ps[2 * levels - 1] += tail;
  for (std::int32_t i = 0; i < 2 * levels; ++i) ps[i] *= logarithm(qs[i] + smoothing);
  double sums[kSums] = {};
  std::int32_t i = 0;
  for (; i + kSums <= 2 * levels; i += kSums) {
    for (std::int32_t k = 0; k < kSums; ++k) sums[k] += ps[i + k];
  }
  for (std::int32_t k = 0; k < kSums && i + k < 2 * levels; ++k) sums[k] += ps[i + k];
  for (std::int32_t half = kSums / 2; half > 0; half /= 2) {
    for (std::int32_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return sums[0];
}

// CrossEntropyFunctions::run, with a constant for the number of levels that both callers use, so
// that the compiler needs no remainder loop.
inline double run(const LevelledHistogram& histogram, std::int64_t kept, double tail,
                  double* scratch) {
  constexpr std::int32_t kUsual = 128;
  if (histogram.levels == kUsual) return cross_entropy(histogram, kUsual, kept, tail, scratch);
  return cross_entropy(histogram, static_cast<std::int32_t>(histogram.levels), kept, tail, scratch);
}

inline void logarithms(double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = logarithm(values[i]);
}

}  // namespace
}  // namespace qtool
