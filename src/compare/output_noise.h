#pragma once

#include <span>
#include <vector>

#include "compare/metrics.h"
#include "qtool/compare/infer.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Elements that ValuePairs are taken of: of so many first images, so many of each tensor.
inline constexpr std::size_t kPairImages = 6;
inline constexpr std::size_t kPairsOfImage = 24;

/// Evenly spread indices into `count` elements, the same for the same arguments; all of them where
/// they are few.
std::vector<std::size_t> picked(std::size_t count, std::size_t image);

/// The outputs of one run, kept while other networks run.
class KeptOutputs {
 public:
  /// Copies the outputs as float32.
  void keep(std::span<const TensorView> outputs);
  /// The sums of each output against the kept one. Throws Error(kMismatch) for other sizes.
  [[nodiscard]] std::vector<SqnrSums> compare(std::span<const TensorView> outputs) const;
  /// Some elements of each output beside those of the kept one, see picked(). Throws as compare().
  [[nodiscard]] std::vector<std::vector<ValuePair>> pairs(std::span<const TensorView> outputs,
                                                          std::size_t image) const;

 private:
  std::vector<std::vector<float>> outputs_;
};

/// sum (x - y)^2 / sum x^2 of each output, then the mean over the outputs; an output that is zero
/// throughout counts as one without noise.
double noise_of(std::span<const SqnrSums> outputs);

/// A noise of noise_of() as an SQNR.
double noise_decibels(double noise);

}  // namespace qtool
