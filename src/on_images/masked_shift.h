#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "on_images/network_by_depth.h"
#include "qtool/calib/collect.h"
#include "qtool/graph/graph.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// A layer whose results are compared.
struct ComparedLayer {
  std::string fp32;  ///< the tensor with its results, before the activation, in the FP32 graph
  std::string int8;  ///< the same tensor in the INT8 graph
  /// The following activation passes reals between these two values unchanged.
  float above = 0.0F;
  float below = 0.0F;
};

/// The mean shift is computed as if this many more positions had a shift of 0. A channel whose
/// values seldom pass the activation is therefore corrected by less.
inline constexpr double kShiftlessPositions = 50.0;

/// The result of masked_shifts().
struct MaskedShifts {
  std::vector<std::vector<double>> by_layer;  ///< by layer, then by channel (axis 1)
  std::vector<BadImage> bad;                  ///< images left out, in the order of the list
};

/// Measures by how much the INT8 results of each layer exceed the FP32 results, per channel:
/// sum m (y_int8 - y_fp32) / (sum m + kShiftlessPositions) over all positions of all images, where
/// m is 1 if the activation passes y_fp32 and 0 otherwise. Later layers do not see values that the
/// activation cuts off. Without m, rare values of this kind would move the mean.
/// Each image runs on one thread, and the sums are added in the order of the list. The result
/// therefore does not depend on the number of threads. `each_image` is called after each image, by
/// one thread at a time. `network` is the FP32 graph, whose inputs the images become. Throws as
/// collect() does. Cost: one run of both networks per image. Memory: per thread, one run of both
/// networks and the FP32 results; and 16 bytes per channel for each image that waits for an earlier
/// one.
/// Source: the project's own; Nagel et al., arXiv 1906.04721, appendix D, has it without m.
MaskedShifts masked_shifts(const Graph& network, NetworkByDepth& fp32, NetworkByDepth& int8,
                           std::span<const ComparedLayer> layers, const Samples& samples,
                           const CollectOptions& collect, const std::function<void()>& each_image);

}  // namespace qtool
