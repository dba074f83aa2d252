#pragma once

#include <span>
#include <vector>

#include "compare/metrics.h"
#include "qtool/compare/infer.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// ValuePairs are taken from the first kPairImages images: kPairsOfImage elements of each tensor.
inline constexpr std::size_t kPairImages = 6;
inline constexpr std::size_t kPairsOfImage = 24;

/// Indices that are spread evenly over `count` elements; all indices if `count` is at most
/// kPairsOfImage. The same arguments give the same indices.
std::vector<std::size_t> picked(std::size_t count, std::size_t image);

/// The outputs of one run, kept while other networks run.
class KeptOutputs {
 public:
  /// Copies the outputs as float32.
  void keep(std::span<const TensorView> outputs);
  /// The sums of each output against the kept output. Throws Error(kMismatch) when the sizes
  /// differ.
  [[nodiscard]] std::vector<SqnrSums> compare(std::span<const TensorView> outputs) const;
  /// Some elements of each output, paired with the same elements of the kept output, see picked().
  [[nodiscard]] std::vector<std::vector<ValuePair>> pairs(std::span<const TensorView> outputs,
                                                          std::size_t image) const;

 private:
  std::vector<std::vector<float>> outputs_;
};

/// sum (x - y)^2 / sum x^2 of each output, then the mean over the outputs. An output with only
/// zeros counts as an output without noise.
double noise_of(std::span<const SqnrSums> outputs);

/// The sums of each of `outputs` outputs over all groups but one; over all groups where there is no
/// such group. `groups`: [group][output].
std::vector<SqnrSums> sums_without(std::span<const std::vector<SqnrSums>> groups,
                                   std::size_t left_out, std::size_t outputs);

/// The SQNR in dB for a noise from noise_of().
double noise_decibels(double noise);

}  // namespace qtool
