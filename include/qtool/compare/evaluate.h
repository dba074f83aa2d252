#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/answers/answer.h"
#include "qtool/base/progress.h"
#include "qtool/image/preprocess.h"
#include "qtool/quant/affine.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

/// Images whose outputs are not an answer: see has_answer().
struct Unanswered {
  std::int64_t images = 0;
  std::filesystem::path first;  ///< in the order of the list
};

/// Where the labels of an ImageSet come from, and so how far they can be trusted.
enum class LabelSource : std::uint8_t {
  kNamed,    ///< a file of class names, or numbers: a label is the network's class
  kFolders,  ///< folders found, sorted: right only if there is one for each class
  kUnused,   ///< nobody asks for them
};

/// How samples are run, whatever is measured.
struct SampleRunOptions {
  Preprocess preprocess{};
  BadImages bad_images = BadImages::kSkip;
  int threads = 0;      ///< samples at a time; 0 = all available
  Progress progress{};  ///< counts samples; may be empty
  StopCheck stop{};     ///< asked within a sample too, and while models are made
};

struct EvalOptions {
  Preprocess preprocess{};
  BadImages bad_images = BadImages::kSkip;
  LabelSource labels = LabelSource::kNamed;
  int threads = 0;         ///< images run side by side; 0 = all available
  std::int64_t batch = 1;  ///< images per run; the result does not depend on it
  Requantization requantization = Requantization::kFloat;  ///< of integer sums
  AnswerOptions answers{};  ///< of which both models' answers are compared; needs an INT8 model
  Progress progress{};      ///< counts images; may be empty
};

/// How one model did. Counts are of images whose class is known; an image without an answer is
/// among neither the top 1 nor the top 5.
struct ModelScore {
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;
  Unanswered unanswered{};
  double run_seconds = 0.0;  ///< spent inside runs, summed over the workers
};

/// The top-1 class of one model for one sample.
struct TopClass {
  std::int64_t index = -1;  ///< -1: no answer, or no class scores
  double margin = 0.0;      ///< its score minus that of the second class
};

/// What the models said of one sample.
struct SampleResult {
  std::filesystem::path path{};
  std::int64_t label = -1;         ///< its known class; -1: unknown, or the network has no classes
  std::array<TopClass, 2> top1{};  ///< of FP32, of INT8
  /// Where the models answer with different classes: how far INT8 lowered the score of FP32's class
  /// against the best other one. At least the FP32 margin.
  double margin_lost = 0.0;
  std::vector<double> sqnr_db{};  ///< of each output; empty unless both models answered

  /// Whether both models answered, with different classes.
  [[nodiscard]] bool flipped() const {
    return top1[0].index >= 0 && top1[1].index >= 0 && top1[0].index != top1[1].index;
  }
};

struct EvalResult {
  std::string noun = "image";  ///< what was run, see Samples::noun()
  std::int64_t images = 0;     ///< that both models ran
  std::int64_t labelled = 0;   ///< of these, with a known class
  std::int64_t classes = 0;    ///< scores in the first output; 0 when it is not one score per class
  std::int64_t batch = 1;
  int workers = 1;
  Requantization requantization = Requantization::kFloat;
  bool labels_ignored = false;  ///< folders that are not as many as the network's classes
  ModelScore fp32;
  std::optional<ModelScore> int8;
  bool near_chance = false;           ///< FP32 top-1 looks like guessing, see is_near_chance()
  std::int64_t agreement = 0;         ///< images that both models answer with the same top-1 class
  std::vector<OutputError> outputs;   ///< INT8 against FP32
  AnswerAgreement answers;            ///< INT8 against FP32, over all images
  std::vector<SampleResult> samples;  ///< those that were run, in the order of the list
  std::vector<std::string> class_names;  ///< index = class; empty where they are not known
  std::vector<BadImage> bad;             ///< left out

  /// Images per second through one model, preprocessing not counted.
  [[nodiscard]] double images_per_second(const ModelScore& score) const;
  /// One sentence per reason to doubt the result: a model that does not answer some images, FP32
  /// accuracy near chance.
  [[nodiscard]] std::vector<std::string> doubts() const;
  /// Whether the result is useless: a model does not answer more than half of the images.
  [[nodiscard]] bool useless() const;
};

/// The first usable sample. Throws Error(kMismatch) when there is none, and as Samples::load().
std::vector<Tensor> first_sample(const Samples& samples, const Preprocess& preprocess,
                                 BadImages policy);

/// The number of classes that the first output scores for such a sample, 0 when it is not one
/// score per class. Cost: compiling a plan, which a later run with the same options reuses.
std::int64_t classes_of(const Executor& executor, std::span<const Tensor> sample, int threads,
                        Requantization requantization);

/// Runs every sample through one or two models and compares.
/// One image (or batch) per worker at a time, one thread inside the network; both models see the
/// same tensors in the same run. Everything but the times is merged in the order of the list, so it
/// depends on neither threads nor batch. Top-1 and top-5 are taken of the first output when it has
/// one score per class; ties go to the lower class. Labels from folders are ignored unless there is
/// a folder for each class: numbered without the missing ones they would name other classes. Throws
/// Error(kUsage) when a label is beyond the network's classes or `batch` is below 1,
/// Error(kUnsupported) when images are for a network with several inputs, Error(kMismatch) when the
/// models' ports differ, the outputs are not what `answers` says or no sample is usable,
/// Error(kCancelled) when `progress` says so, and what the executor and Samples::load() throw.
/// Tensors may differ in shape from sample to sample in batches of one, images may not.
/// Cost: both networks once per sample; memory is one sample and two arenas per worker,
/// and about 200 bytes for each sample of the list.
EvalResult evaluate(const Executor& fp32, const Executor* int8, const Samples& samples,
                    const EvalOptions& options);

/// The SQNR in dB below which a model is taken for broken unless the user says otherwise: the noise
/// has half the power of the signal. A detector of SiLU layers, without equalization, is near 8.
inline constexpr double kDefaultVerifyDb = 3.0;

/// Whether an INT8 model still does what its FP32 network does.
struct Verification {
  std::string noun = "image";  ///< what was run, see Samples::noun()
  std::int64_t samples = 0;    ///< that both models ran
  double min_sqnr_db = kDefaultVerifyDb;
  std::vector<OutputError> outputs;  ///< INT8 against FP32
  std::vector<BadImage> bad;         ///< left out
  /// What speaks against the model, one sentence each; empty: it passed.
  std::vector<std::string> faults;

  /// Outputs of integers are shown, not judged: see OutputError::dtype.
  [[nodiscard]] static bool judges(const OutputError& output) { return is_float(output.dtype); }
};

/// Runs both models on all of `samples`. A fault is an output of floats whose SQNR, the mean over
/// the samples, is below `min_sqnr_db` or no number; and samples that FP32 answers and INT8 does
/// not (see has_answer()). `options`: labels and answers are not used. Cost and errors: those of
/// evaluate().
Verification verify(const Executor& fp32, const Executor& int8, const Samples& samples,
                    const EvalOptions& options, double min_sqnr_db);

}  // namespace qtool
