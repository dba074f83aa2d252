#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/exec/executor.h"
#include "qtool/image/load.h"
#include "qtool/image/preprocess.h"
#include "qtool/quant/affine.h"
#include "qtool/samples/samples.h"

namespace qtool {

struct AnalyzeOptions {
  Preprocess preprocess{};
  BadImages bad_images = BadImages::kSkip;
  int threads = 0;      ///< images at a time; 0 = all available
  Progress progress{};  ///< counts images; may be empty
  StopCheck stop{};     ///< asked within an image too, and while models are made
  /// Once it is true, analyze() begins no more images; the first one is measured in any case.
  StopCheck enough{};
};

enum class SourceKind : std::uint8_t {
  kActivation,  ///< one tensor rounded to its scale and zero point
  kWeights,     ///< the weights and the bias of one node as the INT8 model has them
};

/// One thing that quantization changes, and what this change alone does.
struct ErrorSource {
  SourceKind kind = SourceKind::kActivation;
  std::string name;      ///< the tensor, or the node whose weights they are
  std::string node;      ///< what writes the tensor, or the node itself; empty: a model input
  std::string op_type;   ///< of that node
  double noise = 0.0;    ///< at the outputs, see AnalyzeResult::noise
  double sqnr_db = 0.0;  ///< the same as a ratio of signal to noise
  double share = 0.0;    ///< noise / AnalyzeResult::noise
  /// Of activations: the noise in the tensor itself, and the share of its values beyond what the
  /// integers stand for.
  double local_sqnr_db = 0.0;
  double saturated_share = 0.0;
  double used_share = 0.0;  ///< of the integers' range, from the lowest to the highest one in use
  Range range;              ///< what the integers stand for
  Range seen;               ///< the least and the largest value, and 0
  /// Channels are indices of axis 1, of tensors with three axes or more; the peak of one is its
  /// largest |x| on all images.
  std::int64_t channels = 0;
  std::int64_t dead_channels = 0;  ///< with peak 0
  std::int64_t loudest_channel = 0;
  double loudest_peak = 0.0;
  double median_peak = 0.0;  ///< of the channels that are not dead
  /// The INT8 model divides the channels by factors first (StaticOptions::rewrites); all figures of
  /// values and ranges are of the divided ones.
  bool scaled = false;
};

/// A layer with weights, and what quantizing it alone brings, to first order: the noise of its
/// weights, of the tensor it reads and of the one it writes, where they are rounded.
struct LayerNoise {
  std::string node;
  double noise = 0.0;
};

struct AnalyzeResult {
  std::string noun = "image";  ///< what was run, see Samples::noun()
  std::int64_t images = 0;     ///< that were run
  /// Of the whole INT8 model against FP32: sum (x - y)^2 / sum x^2 of each output over all images,
  /// then the mean over the outputs.
  double noise = 0.0;
  double sqnr_db = 0.0;
  /// Sum of the shares. 1 when the errors are independent and small; less where one error hides
  /// another or they add up in step, more where they cancel.
  double explained = 0.0;
  std::vector<ErrorSource> sources;       ///< the largest noise first
  std::vector<LayerNoise> layers;         ///< the largest noise first
  std::vector<std::string> not_compared;  ///< constants and tensors without a counterpart
  std::vector<BadImage> bad;              ///< left out

  /// One sentence per tensor that makes a tenth of the noise or more for a reason that can be
  /// named, the worst first: its values are clipped, it uses little of its range, or one channel is
  /// far larger than the others.
  [[nodiscard]] std::vector<std::string> faults() const;
};

/// Which tensor, and which layer's weights, an INT8 model loses its accuracy by.
/// Every quantized activation and every node's weights are applied alone to the FP32 network: the
/// FP32 network runs once per image, and for each source only the steps that follow from it run
/// again. Activations are rounded as their QuantizeLinear and DequantizeLinear say; a pair behind
/// an operator that only moves elements, with the scale of its input, counts once. Results do not
/// depend on the number of threads. `fp32` and `int8` are prepared models of the same network with
/// the same names of nodes and tensors, as quantize() and other tools keep them.
/// What a model that was rewritten (StaticOptions::rewrites) divides by factors is divided before
/// it is rounded, and multiplied again. Throws Error(kMismatch) when the INT8 model has no
/// quantized tensor of the FP32 model or the ports differ, Error(kUnsupported) when the network has
/// several inputs or a rewritten INT8 model does not say by which factors, Error(kCancelled) when
/// the progress says so, and what evaluate() throws for images. Cost: about half an FP32 run per
/// image and source. Memory: two of each tensor per worker.
AnalyzeResult analyze(const Executor& fp32, const Executor& int8, const Samples& samples,
                      const AnalyzeOptions& options);

}  // namespace qtool
