#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "qtool/calib/collect.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// A layer whose results are compared.
struct ComparedLayer {
  std::string fp32;  ///< the tensor with its results, before the activation, in the FP32 graph
  std::string int8;  ///< and in the INT8 one
  /// Reals between these pass the activation that follows.
  float above = 0.0F;
  float below = 0.0F;
};

/// Positions that count as much as a shift of 0: channels that pass seldom are corrected by less.
inline constexpr double kShiftlessPositions = 50.0;

/// What masked_shifts() measured.
struct MaskedShifts {
  std::vector<std::vector<double>> by_layer;  ///< and in it by channel (axis 1)
  std::vector<BadImage> bad;                  ///< images left out, in the order of the list
};

/// By how much the INT8 results of each layer exceed the FP32 ones, by channel:
/// sum m (y_int8 - y_fp32) / (sum m + kShiftlessPositions) over all positions of all images, where
/// m is 1 if the activation passes y_fp32. What the activation cuts off, it hides: without m the
/// mean follows rare values that nothing behind the layer sees.
/// Images run one by one on one thread each, and their sums are added in the order of the list: the
/// result does not depend on the number of threads. `each_image` is called after each, by one
/// thread at a time. Throws as collect() does. Cost: one run of both graphs per image. Memory: per
/// thread these runs and the FP32 results, and 16 bytes per channel of each image that waits for an
/// earlier one.
/// Source: the project's own; Nagel et al., arXiv 1906.04721, appendix D, has it without m.
MaskedShifts masked_shifts(const Executor& fp32, const Executor& int8,
                           std::span<const ComparedLayer> layers, const Samples& samples,
                           const CollectOptions& collect, const std::function<void()>& each_image);

}  // namespace qtool
