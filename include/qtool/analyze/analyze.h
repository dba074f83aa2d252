#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/infer.h"
#include "qtool/compare/profile.h"
#include "qtool/image/preprocess.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;
struct Collection;

struct AnalyzeOptions : SampleRunOptions {
  /// Once it is true, analyze() begins no more images; the first one is measured in any case.
  StopCheck enough{};
};

enum class SourceKind : std::uint8_t {
  kActivation,  ///< one tensor rounded to its scale and zero point
  kWeights,     ///< the weights of one node as the INT8 model has them
  kBias,        ///< the bias of one node, as far as it does not make up for its weights
};

/// One thing that quantization changes, and what this change alone does.
struct ErrorSource {
  SourceKind kind = SourceKind::kActivation;
  std::string name;     ///< the tensor, or the node whose weights or bias they are
  std::string node;     ///< what writes the tensor, or the node itself; empty: a model input
  std::string op_type;  ///< of that node
  /// At the outputs, see AnalyzeResult::noise. Of a bias: what it adds to the noise of the weights.
  double noise = 0.0;
  double sqnr_db = 0.0;  ///< the same as a ratio of signal to noise
  double share = 0.0;    ///< noise / AnalyzeResult::noise
  /// Of weights: the noise that they would make in addition with the bias of FP32. It is above 0
  /// where the bias makes up for them, as bias correction does; then `noise` is that of both.
  double corrected = 0.0;
  /// Of activations: the noise in the tensor itself, and the share of its values beyond what the
  /// integers stand for.
  double local_sqnr_db = 0.0;
  /// Of activations: the whole INT8 model against FP32 at this tensor, with everything before it on
  /// integers. Nothing of a tensor whose integers the INT8 model does not hold as one tensor.
  std::optional<double> accumulated_sqnr_db{};
  double saturated_share = 0.0;
  double used_share = 0.0;  ///< of the integers' range, from the lowest to the highest one in use
  Range range;              ///< what the integers stand for
  Range seen;               ///< the least and the largest value, and 0
  Range central;            ///< what 99.9 % of the values lie in, to a step of the integers
  LevelHistogram levels{};
  /// Channels are indices of axis 1, of tensors with three axes or more; the peak of one is its
  /// largest |x| on all images.
  std::int64_t channels = 0;
  std::int64_t dead_channels = 0;      ///< with peak 0
  std::int64_t constant_channels = 0;  ///< with one value other than 0 throughout
  std::int64_t loudest_channel = 0;
  double loudest_peak = 0.0;
  double median_peak = 0.0;  ///< of the channels that are not dead
  /// What each channel reaches, where the widest of those that are not dead is more than
  /// kUnevenChannels times as wide as the narrowest; empty otherwise. Zero lies in each.
  std::vector<Range> channel_ranges{};
  /// The INT8 model divides the channels by factors first (StaticOptions::rewrites); all figures of
  /// values and ranges are of the divided ones, but for the pairs.
  bool scaled = false;
  std::vector<ValuePair> pairs{};  ///< some elements of the first images
};

inline constexpr double kUnevenChannels = 8.0;
/// The ratio of bias to weights is measured on the first images only: it saves a third of the runs.
inline constexpr std::size_t kBiasImages = 4;

/// A layer with weights, and what quantizing it alone brings, to first order: the noise of its
/// weights and its bias, of the tensor it reads and of the one it writes, where they are rounded.
struct LayerNoise {
  std::string node;
  double noise = 0.0;  ///< the sum of the rest
  double weights = 0.0;
  double bias = 0.0;
  double activations = 0.0;
  double corrected = 0.0;  ///< see ErrorSource; not a part of the sum
};

/// One output of the whole INT8 model against FP32.
struct AnalyzedOutput {
  std::string name;
  double sqnr_db = 0.0;
  std::vector<ValuePair> pairs{};  ///< some elements of the first images
};

struct AnalyzeResult {
  std::string noun = "image";  ///< what was run, see Samples::noun()
  std::int64_t images = 0;     ///< that were run
  /// Of the whole INT8 model against FP32: sum (x - y)^2 / sum x^2 of each output over all images,
  /// then the mean over the outputs.
  double noise = 0.0;
  double sqnr_db = 0.0;
  /// Interval of sqnr_db with 95 % confidence, were other images of the kind taken; nothing for
  /// fewer than two. See jackknife_interval().
  std::optional<std::array<double, 2>> sqnr_interval_db{};
  /// Sum of the shares. 1 when the errors are independent and small; less where one error hides
  /// another or they add up in step, more where they cancel.
  double explained = 0.0;
  std::vector<AnalyzedOutput> outputs;
  std::vector<ErrorSource> sources;       ///< the largest noise first
  std::vector<LayerNoise> layers;         ///< the largest noise first
  std::vector<std::string> not_compared;  ///< constants and tensors without a counterpart
  std::vector<BadImage> bad;              ///< left out

  /// The share of the noise that no source makes alone: errors that add up in step. Less than 0
  /// where they cancel. With the shares of the sources it adds up to 1.
  [[nodiscard]] double remainder() const noexcept { return noise > 0.0 ? 1.0 - explained : 0.0; }
  /// One sentence per source that makes a tenth of the noise or more for a reason that can be
  /// named, the worst first: values are clipped, a tensor uses little of its range, one channel is
  /// far larger than the others, or a bias is another one.
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
/// image and source. Memory: two of each tensor per worker, and nothing for each image.
AnalyzeResult analyze(const Executor& fp32, const Executor& int8, const Samples& samples,
                      const AnalyzeOptions& options);

/// What an INT8 model is made from, so that it can be made again with something changed.
struct Recipe {
  CalibrationTable table;
  StaticOptions options;
};

/// The recipe that an INT8 model itself tells: the scales and zero points of its activations and
/// weights, what it adds to biases, its target and the layers that it leaves in FP32. quantize()
/// makes the same integers of it where qtool made the model; another tool may have placed its pairs
/// elsewhere. Both graphs are prepared and have names in common, see analyze(). Throws
/// Error(kUnsupported) for a model without stored scales, with activations of 16 bits, weights
/// whose scales do not lie along their output channels, or made with rewrites (`qtool.rewrites`).
/// Cost: linear.
Recipe recipe_of(const Graph& fp32, const Graph& int8);

/// A change of a recipe, in the terms of the program's options.
struct Change {
  std::vector<std::string> exclude{};                  ///< nodes to leave in FP32: --exclude
  std::vector<Overrides::GivenRange> ranges{};         ///< --range
  std::string method{};                                ///< --method of calibrate; empty: as it is
  std::string weight_method{};                         ///< --weight-method; empty: as it is
  std::optional<std::vector<std::string>> rewrites{};  ///< StaticOptions::rewrites: --equalize
  std::vector<std::string> wide{};                     ///< tensors to keep in 16 bits: --wide
  /// --bias-correction sequential: the options that name its images, see CorrectionImages. Empty:
  /// as it is.
  std::vector<std::string> corrected_on{};
  friend bool operator==(const Change&, const Change&) = default;
};

/// A change that was made, and what it brought.
struct Suggestion {
  Change change;
  double noise = 0.0;  ///< of the changed model, as AnalyzeResult::noise
  double sqnr_db = 0.0;
  double gain_db = 0.0;             ///< over SuggestResult::sqnr_db
  MedianInterval slower_seconds{};  ///< time of an image, the changed model's minus the other's
};

/// What one change brings for one of the worst sources.
struct SourceTrial {
  std::string source;  ///< see ErrorSource::name
  SourceKind kind = SourceKind::kActivation;
  std::string what;  ///< "FP32", "16 bits", "range of the images", "range by mse"
  Change change;
  double gain_db = 0.0;  ///< over SuggestResult::sqnr_db
};

/// What sequential_bias_shifts() may run.
struct CorrectionImages {
  Samples samples;
  Preprocess preprocess{};           ///< that quantizing takes from the table or the model
  std::vector<std::string> words{};  ///< the options that name the samples: --images, --limit
};

struct SuggestOptions : AnalyzeOptions {
  std::int64_t sources = 8;                ///< how many of the worst ones to look for changes for
  double least_gain_db = 0.5;              ///< what a change must bring to be suggested
  std::int64_t most = 10;                  ///< suggestions
  std::int64_t repeat = 31;                ///< timed runs of each model, on `threads` threads
  const Collection* statistics = nullptr;  ///< of the recipe's table: to try other methods; or null
  /// To try --bias-correction sequential, alone and with the best of what costs no time. It takes
  /// half a run of both models per image and layer, so that a few images should be enough.
  std::optional<CorrectionImages> correction{};
};

struct SuggestResult {
  /// Of the model that the recipe makes without a change.
  double sqnr_db = 0.0;
  std::int64_t tried = 0;
  double least_gain_db = 0.0;
  int threads = 1;                      ///< that times were measured with
  double int8_seconds = 0.0;            ///< median time of an image without a change
  std::vector<Suggestion> suggestions;  ///< the largest gain first
  /// What was tried for each of the worst sources alone, whether it brings something or not: in the
  /// order of the sources.
  std::vector<SourceTrial> by_source{};
};

/// Changes of a recipe that bring accuracy, each tried on the images before it is returned.
/// Tried are: FP32 for what each of the worst sources needs, and for the worst ones together; for
/// the worst activations 16 bits, where the target has them, the range that the images have and
/// those that other methods choose, where these are other ones; every other method, weight method,
/// equalization and a correction of the biases on images, where there is what they need; the best
/// of these together. Of those that bring `least_gain_db`, the best one that costs no time is
/// returned, and another one only if it brings as much more than every smaller one: with fewer
/// nodes in FP32 or, with as many, fewer other options. Noise does not depend on the number of
/// threads; times are measured, the models in turn. `analysis` is analyze()'s of the model that the
/// recipe makes; other arguments as there. A change that quantize() refuses is not tried. Throws as
/// analyze() and quantize(). Cost: about sources * 4 INT8 runs per image, an FP32 run per image and
/// six of these.
SuggestResult suggest(const Executor& fp32, const Recipe& recipe, const AnalyzeResult& analysis,
                      const Samples& samples, const SuggestOptions& options);

}  // namespace qtool
