#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/answers/answer.h"
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
  /// Once this returns true, analyze() begins no further images. The first ones, one or those that
  /// run together with it, are always measured.
  StopCheck enough{};
};

enum class SourceKind : std::uint8_t {
  kActivation,  ///< one tensor rounded to its scale and zero point
  kWeights,     ///< the weights of one node as the INT8 model has them
  kBias,        ///< the bias of one node, as far as it adds noise
};

/// The weights of one output channel of a layer.
struct WeightChannel {
  Range reached{};  ///< of the FP32 weights, widened to contain 0
  /// The share of this channel in the sum of the squared rounding errors of the layer's weights.
  double error_share = 0.0;
};

/// One change that quantization makes, and the effect of this change alone.
struct ErrorSource {
  SourceKind kind = SourceKind::kActivation;
  std::string name;     ///< the tensor, or the node with the weights or the bias
  std::string node;     ///< the node that writes the tensor, or `name`; empty: a model input
  std::string op_type;  ///< operator of that node
  /// The noise at the outputs, see AnalyzeResult::noise. For a bias: the noise that it adds to the
  /// noise of the weights.
  double noise = 0.0;
  double sqnr_db = 0.0;  ///< `noise` as an SQNR
  double share = 0.0;    ///< noise / AnalyzeResult::noise
  /// For weights: the additional noise that they would make with the FP32 bias. It is above 0 where
  /// the INT8 bias compensates for errors of the weights, as bias correction does. Then `noise` is
  /// the noise of weights and bias together.
  double corrected = 0.0;
  /// For activations: the SQNR of the tensor itself.
  double local_sqnr_db = 0.0;
  /// For activations: the SQNR of this tensor in the whole INT8 model against FP32, so it includes
  /// the errors of all layers before it. nullopt for a tensor whose integers the INT8 model does
  /// not hold as one tensor.
  std::optional<double> accumulated_sqnr_db{};
  double saturated_share = 0.0;  ///< share of the values outside the range of the integers
  double used_share = 0.0;  ///< share of the integers between the lowest and the highest in use
  Range range;              ///< the reals that the integers represent
  Range seen;               ///< range of the values and 0
  Range central;            ///< range of 99.9 % of the values, exact to a bin of `levels`
  LevelHistogram levels{};
  /// A channel is an index of axis 1, or of the last axis where a MatMul reads the tensor, in a
  /// tensor with three or more axes. The peak of a channel is its largest |x| over all images.
  std::int64_t channels = 0;
  std::int64_t dead_channels = 0;      ///< channels with peak 0
  std::int64_t constant_channels = 0;  ///< channels that always have the same value, not 0
  std::int64_t loudest_channel = 0;
  double loudest_peak = 0.0;
  double median_peak = 0.0;  ///< median peak of the channels that are not dead
  /// The range of the values of each channel, widened to contain 0. Empty unless, among the
  /// channels that are not dead, the widest range is more than kUnevenChannels times as wide as the
  /// narrowest.
  std::vector<Range> channel_ranges{};
  /// Whether the INT8 model divides the channels by factors before rounding
  /// (StaticOptions::rewrites). Then all values and ranges here are given after the division,
  /// except `pairs`.
  bool scaled = false;
  std::vector<ValuePair> pairs{};  ///< some elements of the first images
  /// For weights of a convolution or a matrix: one per output channel.
  std::vector<WeightChannel> weight_channels{};
  std::int64_t filter = 0;  ///< number of weights of one output channel
  bool depthwise = false;   ///< each output channel reads one channel
};

inline constexpr double kUnevenChannels = 8.0;
/// The ratio of the noise of bias and weights is measured on the first images only. This saves a
/// third of the runs.
inline constexpr std::size_t kBiasImages = 4;

/// A layer with weights, and the noise of quantizing this layer alone, to first order: the noise of
/// its weights and its bias, and of the tensors that it reads and writes, where they are rounded.
struct LayerNoise {
  std::string node;
  double noise = 0.0;  ///< weights + bias + activations
  double weights = 0.0;
  double bias = 0.0;
  double activations = 0.0;
  double corrected = 0.0;  ///< see ErrorSource; not a part of `noise`
};

/// One output of the whole INT8 model against FP32.
struct AnalyzedOutput {
  std::string name;
  double sqnr_db = 0.0;
  std::vector<ValuePair> pairs{};  ///< some elements of the first images
};

struct AnalyzeResult {
  std::string noun = "image";  ///< word for a sample, see Samples::noun()
  std::int64_t images = 0;     ///< images that were run
  /// The noise of the whole INT8 model against FP32: sum (x - y)^2 / sum x^2 of each output over
  /// all images, then the mean over the outputs.
  double noise = 0.0;
  double sqnr_db = 0.0;
  /// The interval in which sqnr_db lies, with 95 % confidence, for other images of the same kind.
  /// nullopt for fewer than two images. See jackknife_interval().
  std::optional<Interval> sqnr_interval_db{};
  /// The sum of the shares of the sources. 1 when the errors are independent and small. Below 1
  /// where one error hides another or errors are positively correlated; above 1 where errors cancel
  /// each other.
  double explained = 0.0;
  std::vector<AnalyzedOutput> outputs;
  std::vector<ErrorSource> sources;       ///< the largest noise first
  std::vector<LayerNoise> layers;         ///< the largest noise first
  std::vector<std::string> not_compared;  ///< constants and tensors without a counterpart
  std::vector<BadImage> bad;              ///< images that were left out
  std::optional<Overlap> overlap{};       ///< as EvalResult::overlap, set by the caller
  PassedOver passed_over{};               ///< see Samples::passed_over()
  /// fingerprint() of the FP32 model and hash_of() the samples, set by the caller. They tell
  /// whether two results can be compared.
  std::optional<std::uint64_t> model_fingerprint{};
  std::optional<std::uint64_t> samples_hash{};

  /// The share of the noise that no source makes alone, because errors are positively correlated.
  /// Below 0 where errors cancel each other. Together with the shares of the sources it adds up to
  /// 1.
  [[nodiscard]] double remainder() const noexcept { return noise > 0.0 ? 1.0 - explained : 0.0; }
  /// One sentence for each source that makes a tenth of the noise or more, with the reason, the
  /// worst source first. The reasons are: values are clipped; a tensor uses little of its range, or
  /// few values need most of it; one channel is far larger than the others; the layers behind a
  /// tensor magnify its rounding; the weights are those of a depthwise convolution, or one channel
  /// has most of their rounding error; the bias differs from the FP32 bias.
  [[nodiscard]] std::vector<std::string> faults() const;
};

/// Finds the tensors and the layers' weights that cost an INT8 model its accuracy.
/// Every quantized activation and every node's weights are applied alone to the FP32 network: the
/// FP32 network runs once per image, and for each source only the steps that follow from it run
/// again. Where the network takes several images at once, most images run four at a time, because
/// their layers then read the weights once. Activations are rounded as their QuantizeLinear and
/// DequantizeLinear do. If an operator only moves elements, and the QDQ pairs before and after it
/// have the same scale, the second pair is not counted. Results do not depend on the number of
/// threads. `fp32` and `int8` are prepared models of the same network. Nodes and tensors must have
/// the same names in both; quantize() and other tools keep the names.
/// Where a rewritten model (StaticOptions::rewrites) divides channels by factors, they are divided
/// before they are rounded, and multiplied by the factors again. Throws Error(kMismatch) when the
/// INT8 model has no quantized tensor of the FP32 model or the ports differ, Error(kUnsupported)
/// when the network has several inputs or a rewritten INT8 model does not say by which factors,
/// Error(kCancelled) when the progress stops it, and what evaluate() throws for images. Cost: about
/// half an FP32 run per image and source. Memory: per worker, a copy of each tensor of the images
/// that run together, which is at most 128 MiB for more than one image, and the tensors of a part
/// that runs again; nothing for each image.
AnalyzeResult analyze(const Executor& fp32, const Executor& int8, const Samples& samples,
                      const AnalyzeOptions& options);

/// The inputs from which an INT8 model is made. With them, the model can be made again with a
/// change.
StaticInputs recovered_table_and_options(const Graph& fp32, const Graph& int8);

/// As above, for a model and the table that it was made of. Rewritten models, weights that were
/// rounded on images and biases that were corrected on images are understood too. `prepared` is the
/// whole FP32 network, and `loaded` the INT8 model as in its file. Throws Error(kUnsupported) if
/// making it from the result would not give the same model, because options that it does not name
/// made it.
StaticInputs recovered_options(const Graph& prepared, const Graph& loaded, CalibrationTable table);

/// A change of the recipe and the inputs that a model is made from. The comments name the program's
/// option for each part.
struct Change {
  std::vector<std::string> exclude{};                  ///< nodes to leave in FP32: --exclude
  std::vector<Overrides::GivenRange> ranges{};         ///< --range
  std::string method{};                                ///< --method of calibrate; empty: unchanged
  std::string weight_method{};                         ///< --weight-method; empty: unchanged
  std::optional<std::vector<std::string>> rewrites{};  ///< StaticOptions::rewrites: --equalize
  std::vector<std::string> wide{};                     ///< tensors to keep in 16 bits: --wide
  std::string effort{};          ///< all choices of this effort, not judged; empty: unchanged
  std::string target{};          ///< --target; empty: unchanged
  bool corrects_biases = false;  ///< --bias-correction sequential
  /// The options that name the samples that the steps of the recipe learn from, see
  /// LearningSamples. Empty: nothing is learned.
  std::vector<std::string> learned_on{};
  friend bool operator==(const Change&, const Change&) = default;
};

/// A share of answers.
struct AnswerShare {
  double value = 0.0;
  /// For other images of the same kind, with 95 % confidence; nullopt for fewer than two images.
  std::optional<Interval> interval{};
};

/// How far the answers of a model agree with FP32 on the images that judge changes. Only what
/// SuggestOptions::answers name is filled; `classes` where they name neither boxes nor a mask and
/// the first output is one score per class.
struct KeptAnswers {
  std::optional<BoxMatch> boxes{};        ///< see AnswerAgreement::judged_boxes()
  std::optional<AnswerShare> pixels{};    ///< with FP32's class, see MaskAgreement::equal_interval
  std::optional<AnswerShare> mean_iou{};  ///< see MaskAgreement::mean_iou_interval
  /// The share of the images with FP32's class; its interval is Wilson's.
  std::optional<AnswerShare> classes{};
};

/// A change that was tried, and its effect.
struct Suggestion {
  Change change;
  double noise = 0.0;  ///< noise of the changed model, as AnalyzeResult::noise
  double sqnr_db = 0.0;
  double gain_db = 0.0;  ///< sqnr_db minus SuggestResult::sqnr_db
  /// The interval of the gain for other images of the same kind, with 95 % confidence, paired by
  /// image. nullopt for fewer than two images. See jackknife_interval().
  std::optional<Interval> gain_interval_db{};
  /// The interval of the pooled SQNR of the worst output, likewise.
  std::optional<Interval> worst_interval_db{};
  KeptAnswers answers{};        ///< of the changed model
  double integer_share = 0.0;   ///< of the multiplications
  double making_seconds = 0.0;  ///< time that making the model took, with what it learned
  RunCost cost{};               ///< time per image, against the unchanged model
};

/// The effect of one change that was tried for one of the worst sources.
struct SourceTrial {
  std::string source;  ///< see ErrorSource::name
  SourceKind kind = SourceKind::kActivation;
  std::string what;  ///< "FP32", "16 bits", "range of the images", "range by mse"
  Change change;
  double gain_db = 0.0;  ///< SQNR minus SuggestResult::sqnr_db
};

/// The samples that the steps of a recipe may learn from. They must not be among those that judge.
struct LearningSamples {
  Samples samples;
  Preprocess preprocess{};           ///< the preprocessing in the table or the model
  std::vector<std::string> words{};  ///< the options that name the samples: --images, --limit
};

struct SuggestOptions : AnalyzeOptions {
  /// Meaning of outputs that are not scores per class. Decisions and texts are not compared.
  AnswerOptions answers{};
  std::int64_t sources = 8;                ///< number of worst sources to look for changes for
  double min_gain_db = 0.5;                ///< the least gain of a suggested change
  std::int64_t most = 10;                  ///< the most suggestions
  std::int64_t repeat = 31;                ///< timed runs of each model, on `threads` threads
  const Collection* statistics = nullptr;  ///< for trying other methods; null: none are tried
  /// For trying recipes with steps that learn. A correction of biases takes half a run of both
  /// models per sample and layer, so few samples should be given.
  std::optional<LearningSamples> learning{};
};

struct SuggestResult {
  std::string noun = "image";  ///< word for a sample, see Samples::noun()
  /// The SQNR of the base model without a change.
  double sqnr_db = 0.0;
  KeptAnswers answers{};  ///< of the base model without a change
  std::int64_t tried = 0;
  std::int64_t images = 0;      ///< images that judged the changes
  std::int64_t learned_on = 0;  ///< other images that recipes learned from
  double min_gain_db = 0.0;
  int threads = 1;             ///< threads with which times were measured
  double int8_seconds = 0.0;   ///< median time of an image without a change
  double integer_share = 0.0;  ///< of the multiplications, without a change
  /// The largest gain first. But a change that leaves no more nodes in FP32 comes before changes
  /// that do, if the interval of its gain reaches theirs.
  std::vector<Suggestion> suggestions;
  /// The changes that were tried for each of the worst sources alone, with or without a gain, in
  /// the order of the sources.
  std::vector<SourceTrial> by_source{};
  std::vector<BadImage> bad{};  ///< images that were left out
};

/// Finds changes of the base model that improve accuracy. Each change is tried on the images before
/// it is returned. These changes are tried:
/// - whole recipes: every effort without a budget, the target of qtool's own runtime, equalization,
///   a correction of the biases on images, if the data for it is there;
/// - FP32 for the nodes that must be in FP32 to remove one of the worst sources, and for several of
///   these sources together;
/// - for the worst activations: 16 bits, if the target has them; the range of the values on the
///   images, and the ranges that other methods choose, if they differ from the range in use;
/// - every other method and weight method;
/// - the best of these changes together.
/// Only changes that gain `min_gain_db` or more are returned: the best one that costs no time,
/// and any other one if it gains `min_gain_db` more than every smaller one that is returned. A
/// change is smaller if it has fewer nodes in FP32 and tensors in 16 bits or, with equal numbers,
/// fewer other options. A change of the target is not smaller than one for the same target, because
/// it may be of no use elsewhere. If the weights of the base were rounded on images, they are
/// rounded anew on SuggestOptions::learning for every change, as a command would do. Noise does not
/// depend on the number of threads. Times are measured while the changed model and the base take
/// turns. The answers of each model are compared with those of FP32 in the run that measures its
/// noise. They do not decide which changes are returned. `analysis` is the result of analyze() for
/// the base model; the other arguments are as for analyze(). A change that quantize() refuses is
/// skipped. Throws as analyze(), learn() and quantize() do, and Error(kMismatch) when the outputs
/// do not suit SuggestOptions::answers. Cost: about sources * 4 INT8 runs per image, one FP32 run
/// per image for every six of these, and about ten times the steps that learn. Memory: as
/// analyze(); with boxes or a mask, also the counts of 64 images, and for each image 24 bytes for
/// each entry of BoxAgreement::matches or 16 for its pixels, of six models.
SuggestResult suggest(const Executor& fp32, const StaticInputs& base, const AnalyzeResult& analysis,
                      const Samples& samples, const SuggestOptions& options);

}  // namespace qtool
