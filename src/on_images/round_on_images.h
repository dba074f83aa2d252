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
class KnownLayers;
class PartialResults;

/// Options of round_on_images() in addition to the options of quantize().
struct RoundOnImagesOptions {
  std::int64_t rounding_memory = std::int64_t{1} << 30;  ///< bytes for data about inputs
  /// Bytes of moments in one pass over the images, for methods that need only moments. More passes
  /// take longer, but the moments of a whole network, and the matrices that are made from them, may
  /// take more memory than everything else together. Does not change the result.
  std::int64_t pass_bytes = std::int64_t{128} << 20;
  /// Layers that it holds are not rounded again. Layers that are finished are added to it. May be
  /// null.
  PartialResults* resume = nullptr;
  /// The same for layers of other models that were rounded on the same samples. May be null.
  KnownLayers* known = nullptr;
  /// Returns true when there is no time left. It is called before each layer. From then on, `gptq`
  /// rounds the layers if the chosen method needs samples, because such a method takes longer;
  /// these layers are not added to `resume`. Empty: no limit of time.
  StopCheck out_of_time = {};
};

/// The result of round_on_images().
struct RoundedOnImages {
  RoundedWeights weights;     ///< for Learned::rounded
  std::vector<BadImage> bad;  ///< images left out, in the order; empty if all layers were known
};

/// Rounds the weights of each layer to the integers that lose least on images. The rounding method
/// (StaticOptions::rounding) is one that needs images.
/// For each layer, the second moments of the vectors that its weights multiply are added up, over
/// about 24,000 positions of all images. Layers whose moments fit into `pass_bytes` together, with
/// the vectors of the images that run at the same time, share a pass over the images; for a method
/// that also needs samples, those that fit into `rounding_memory`. The number of vectors is that of
/// an image like the first usable one. Three kinds of layers are left out: a layer whose moments
/// alone do not fit into `rounding_memory`, an operator other than Conv, Gemm and MatMul, and
/// layers that share a name. The integers of the other layers depend neither on the number of
/// threads nor on the number of passes. A method that also needs samples gets up to 8,192 of these
/// vectors, at most 256 MiB per layer. If the samples do not fit into `rounding_memory` beside the
/// moments, the method works without them. `fp32` holds the prepared graph that `table` belongs to.
/// `collect` says how to read the images; its tensors are ignored. The progress counts images over
/// all passes, and layers. Throws as quantize() and collect() do. Cost: per pass, one FP32
/// inference and one decoding per image. Per layer with vectors of length d, 24,000 d^2 products,
/// and d^3 / 3 for solving. Memory: that of a pass, the memory of collect(), and per thread 4 to 8
/// d^2 bytes plus 8 d bytes per output channel. One layer may exceed the memory of a pass by the
/// vectors that wait to be added.
RoundedOnImages round_on_images(const Executor& fp32, const CalibrationTable& table,
                                const StaticOptions& options, const Learned& learned,
                                const Samples& samples, const CollectOptions& collect,
                                const RoundOnImagesOptions& limits = {});

}  // namespace qtool
