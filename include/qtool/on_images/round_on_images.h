#pragma once

#include <cstdint>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/table.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;
class PartialResults;

/// What round_on_images() may use beside the options of quantize().
struct RoundOnImagesOptions {
  std::int64_t max_memory = std::int64_t{1} << 30;  ///< bytes for what is kept of inputs
  /// Layers that it holds are not rounded again; those that are done go there. Null: nowhere.
  PartialResults* resume = nullptr;
  /// True once there is no time left: layers that follow are rounded by `gptq` where the method
  /// asked for takes longer. Asked before each layer; empty: there is time.
  StopCheck out_of_time = {};
};

/// The result of round_on_images().
struct RoundedOnImages {
  RoundedWeights weights;     ///< for QuantizeOptions::rounded
  std::vector<BadImage> bad;  ///< images left out, in the order of the list
};

/// The weights of each layer as integers that lose least on images, by a rounding method that needs
/// them (StaticOptions::rounding). For each layer the second moments of the vectors that it
/// multiplies are added up, over some 24,000 positions of all images; layers whose moments fit into
/// `max_memory` together share a pass over the images. Layers of which one alone does not fit,
/// operators other than Conv, Gemm and MatMul, and layers of one name are left out; the integers of
/// the others depend neither on the number of threads nor on how many passes there are. A method
/// that needs samples too gets 8,192 of these vectors, at most 256 MiB of a layer; where they do
/// not fit into `max_memory` beside the moments it does without. `fp32` holds the prepared graph
/// that `table` belongs to; `collect` says how to read the images, its tensors are ignored; the
/// progress counts images over all passes, and layers. Throws as quantize() and collect() do. Cost:
/// per pass one FP32 inference and one decoded image per image; per layer of depth d 24,000 d^2
/// products, and d^3 / 3 for solving. Memory: `max_memory`, as collect(), and per thread 16 d^2
/// bytes and 8 d for each output channel; one layer may exceed `max_memory` by the vectors that
/// wait to be added.
RoundedOnImages round_on_images(const Executor& fp32, const CalibrationTable& table,
                                const StaticOptions& options, const Samples& samples,
                                const CollectOptions& collect,
                                const RoundOnImagesOptions& limits = {});

}  // namespace qtool
