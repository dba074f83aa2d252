#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/answers/annotations.h"
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
  std::filesystem::path first;  ///< the first such image in the list
};

/// Where the labels of an ImageSet come from, and so how far they can be trusted.
enum class LabelSource : std::uint8_t {
  kNamed,    ///< a file of class names, or numbers: a label is the network's class
  kFolders,  ///< sorted folders: right only if there is one for each class
  kUnused,   ///< labels are not used
};

/// The SQNR of one model less that of another, in the mean over samples.
struct MeanGain {
  double decibels = 0.0;
  std::optional<Interval> interval{};  ///< empty for fewer than 6 samples
};

/// How samples are run, independent of what is measured.
struct SampleRunOptions {
  Preprocess preprocess{};
  BadImages bad_images = BadImages::kSkip;
  int threads = 0;      ///< samples that run at the same time; 0 = all available
  Progress progress{};  ///< counts samples; may be empty
  StopCheck stop{};     ///< also asked within a sample, and while models are made
};

struct EvalOptions {
  Preprocess preprocess{};
  BadImages bad_images = BadImages::kSkip;
  LabelSource labels = LabelSource::kNamed;
  int threads = 0;         ///< images that run at the same time; 0 = all available
  std::int64_t batch = 1;  ///< images per run; the result does not depend on it
  Requantization requantization = Requantization::kFloat;  ///< how integer sums are requantized
  AnswerOptions answers{};  ///< the answers to compare; needs an INT8 model
  Progress progress{};      ///< counts images; may be empty
  /// For answers.boxes: the true boxes of the images. May be null.
  const BoxAnnotations* annotations = nullptr;
  /// For `annotations`: the name of each class of the detector; empty where they are not known.
  std::vector<std::string> class_names{};
  NamesFrom names_from = NamesFrom::kUser;
};

/// The result of one model. `top1` and `top5` count images whose class is known. An image without
/// an answer counts in neither.
struct ModelScore {
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;
  Unanswered unanswered{};
  double run_seconds = 0.0;  ///< time inside runs, summed over the workers
};

/// The top-1 class of one model for one sample.
struct TopClass {
  std::int64_t index = -1;  ///< -1: no answer, or no class scores
  double margin = 0.0;      ///< its score minus the score of the second class
};

/// The results of the models for one sample.
struct SampleResult {
  std::filesystem::path path{};
  std::int64_t label = -1;         ///< its known class; -1: unknown, or the network has no classes
  std::array<TopClass, 2> top1{};  ///< FP32, INT8
  /// Where the models answer with different classes: how much INT8 lowered the lead of FP32's
  /// class, which is its score minus the best other score. At least the FP32 margin. 0 otherwise.
  double margin_lost = 0.0;
  std::vector<double> sqnr_db{};  ///< one per output; empty unless both models answered

  /// Whether both models answered, with different classes.
  [[nodiscard]] bool flipped() const {
    return top1[0].index >= 0 && top1[1].index >= 0 && top1[0].index != top1[1].index;
  }
};

struct EvalResult {
  std::string noun = "image";  ///< word for a sample, see Samples::noun()
  std::int64_t images = 0;     ///< images that all models ran
  std::int64_t labelled = 0;   ///< images with a known class, among these
  std::int64_t classes = 0;    ///< see classes_of(); 0 with boxes or masks
  std::int64_t batch = 1;
  int workers = 1;
  Requantization requantization = Requantization::kFloat;
  bool labels_ignored = false;  ///< kUnused, or not one folder for each class
  ModelScore fp32;
  std::optional<ModelScore> int8;
  bool near_chance = false;  ///< FP32 top-1 looks like guessing, see is_near_chance()
  /// Of (INT8's top-1 - FP32's) / labelled, by paired_interval(); set with labels and INT8.
  std::optional<Interval> top1_change_interval{};
  std::int64_t agreement = 0;        ///< images that both models answer with the same top-1 class
  std::vector<OutputError> outputs;  ///< INT8 against FP32
  AnswerAgreement answers;           ///< INT8 against FP32, over all images
  std::optional<BoxAccuracy> accuracy{};  ///< both against EvalOptions::annotations
  std::vector<SampleResult> samples;      ///< samples that were run, in the order of the list
  std::vector<std::string> class_names;   ///< index = class; empty where they are not known
  std::vector<BadImage> bad;              ///< images that were left out
  /// With the images that set the ranges of INT8. evaluate() does not know them: its caller may set
  /// this by overlap_of().
  std::optional<Overlap> overlap{};
  PassedOver passed_over{};  ///< see Samples::passed_over()

  /// Images per second through one model, preprocessing not counted.
  [[nodiscard]] double images_per_second(const ModelScore& score) const;
  /// Wilson's interval of agreement / images; nullopt without classes.
  [[nodiscard]] std::optional<Interval> agreement_interval() const;
  /// Wilson's interval of score.top1 / labelled; nullopt without labels.
  [[nodiscard]] std::optional<Interval> top1_interval(const ModelScore& score) const;
  /// Whether the share of equal classes judges a model. Not with several outputs, where the first
  /// may look like class scores but be something else, unless labels say that it has classes.
  [[nodiscard]] bool judged_by_classes() const {
    return classes > 0 && (labelled > 0 || outputs.size() == 1);
  }
  /// The output of floats with the lowest pooled SQNR, which judges a model; null without one. The
  /// mean says nothing where FP32 gives almost zero for some images. Outputs of integers, such as
  /// positions and classes, have no noise.
  [[nodiscard]] const OutputError* worst_pooled_output() const;
  /// Whether boxes were asked for, and FP32 finds none in any image. Then nothing was compared.
  [[nodiscard]] bool finds_nothing() const;
  /// One sentence per reason to doubt the result: a model that does not answer some images, FP32
  /// that finds nothing, FP32 accuracy near chance.
  [[nodiscard]] std::vector<std::string> doubts() const;
  /// Whether the result is useless: a model does not answer more than half of the images.
  [[nodiscard]] bool useless() const;
};

/// The first usable sample. Throws Error(kMismatch) when there is none, and as Samples::load()
/// does.
std::vector<Tensor> first_sample(const Samples& samples, const Preprocess& preprocess,
                                 BadImages policy);

/// `batch` copies of a sample as one, in the shapes that evaluate() runs with such a batch. Throws
/// Error(kUnsupported) unless every tensor has 1 in front; a batch of 1 needs none.
std::vector<Tensor> batch_of_copies(std::vector<Tensor> sample, std::int64_t batch);

/// Runs FP32 on a few images, and says to which named detector the shapes and the numbers of its
/// outputs belong. Nothing is run where the shapes fit none. If several detectors fit, it is the
/// only one that finds boxes. Looks at three images of the list; if none of them is usable, it
/// finds nothing. Cost: compiling a plan, and up to three runs. Throws as Samples::load() and the
/// executor do.
RecognisedDetector recognise_detector(const Executor& fp32, const Samples& samples,
                                      const Preprocess& preprocess, BadImages policy);

/// The number of classes that the first output scores for such a sample: it holds one vector for
/// each image, such as [N, C], [N, 1, C] or [N, C, 1, 1], and no other output has a row for each of
/// the numbers, such as the boxes [N, C, 4]. 0 for other outputs. Cost: compiling a plan; a later
/// run with the same options reuses the plan.
std::int64_t classes_of(const Executor& executor, std::span<const Tensor> sample, int threads,
                        Requantization requantization);

/// Throws Error(kMismatch) when there are names and classes, but not one name for each class.
void require_name_per_class(std::span<const std::string> names, std::int64_t classes);

/// Calls require_name_per_class() for names that the caller gave the images, see ImageSet. Throws
/// Error(kUsage), which names the image, when a label is not one of the `classes`.
void require_known_labels(const Samples& samples, std::int64_t classes);

/// Runs every sample through one or two models and compares the results.
/// Each worker runs one image (or batch) at a time, with one thread inside the network. Both models
/// get the same tensors. Everything but the times is merged in the order of the list, so it depends
/// on neither threads nor batch. Top-1 and top-5 are taken from the first output when it has one
/// score per class; the lower class wins a tie. Labels from folders are ignored unless there is a
/// folder for each class. With missing folders, the numbers of the others would stand for wrong
/// classes. Throws Error(kUsage) when a label is beyond the network's classes or `batch` is below
/// 1, Error(kUnsupported) when images are for a network with several inputs, Error(kMismatch) when
/// the models' ports differ, the outputs do not suit `answers`, the annotations do not
/// suit the boxes or name none of the images, a given list of class names does
/// not have one for each class (unless labels are not used) or no sample is usable,
/// Error(kCancelled) when `progress` stops the run, and the errors of the executor and of
/// Samples::load(). With a batch of 1, tensors may differ in shape from sample to sample; images
/// may not.
/// Intervals are left out where samples have states, because such samples are not independent.
/// Cost: one run of both networks per sample. Memory: one sample and two arenas per worker, and
/// about 2 kB for each sample of the list.
EvalResult evaluate(const Executor& fp32, const Executor* int8, const Samples& samples,
                    const EvalOptions& options);

/// The SQNR in dB below which a model is taken for broken, unless the user sets another limit. At 3
/// dB the noise has half the power of the signal. A detector with SiLU layers, without
/// equalization, has about 8 dB.
inline constexpr double kDefaultVerifyDb = 3.0;

/// The result of verify(): whether an INT8 model still works like its FP32 network.
struct Verification {
  std::string noun = "image";  ///< word for a sample, see Samples::noun()
  std::int64_t samples = 0;    ///< samples that both models ran
  double min_sqnr_db = kDefaultVerifyDb;
  std::vector<OutputError> outputs;  ///< INT8 against FP32
  std::vector<BadImage> bad;         ///< samples that were left out
  /// The reasons against the model, one sentence each. Empty when the model passed.
  std::vector<std::string> faults;

  /// Whether an output is judged. Integer outputs are only shown: see OutputError::dtype.
  [[nodiscard]] static bool judges(const OutputError& output) { return is_float(output.dtype); }
};

/// Runs both models on all of `samples`, or on 20 of Samples::spread() if there are more. Four
/// things are faults: pairs of weights that saturate in a model with kPairsKey; a float output
/// whose pooled SQNR is below `min_sqnr_db`; INT8 answers fewer samples than FP32 (see
/// has_answer()); FP32 answers no sample. The mean SQNR does not judge: a few samples for which
/// FP32 gives almost zero, such as images without text for a text detector, make it negative
/// although the model works. `options`: labels and answers are not used. Cost and errors: as for
/// evaluate().
Verification verify(const Executor& fp32, const Executor& int8, const Samples& samples,
                    const EvalOptions& options, double min_sqnr_db);

}  // namespace qtool
