#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/trial_score.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "on_images/known_layers.h"
#include "qtool/analyze/analyze.h"
#include "qtool/pipeline/recipe.h"

namespace qtool {

/// A change, and the noise of the changed model. The noise is nullopt where quantize() refuses the
/// change, where the change has no effect, or where nothing is left on integers.
struct Trial {
  Change change;
  std::optional<double> noise{};
  TrialScore score{};
  /// The sums of groups of images for intervals, see jackknife_interval(): [group][output].
  std::vector<std::vector<SqnrSums>> groups{};
  double making_seconds = 0.0;  ///< time that making the model alone takes
};

/// The interval of the decibels that `changed` has more than `base`, paired by image. Both must
/// have run on the same images. nullopt as for jackknife_interval().
std::optional<Interval> gain_interval(const Trial& changed, const Trial& base);

/// The interval of the pooled decibels of the worst output. nullopt as for jackknife_interval().
std::optional<Interval> worst_output_interval(const Trial& trial);

/// Whether the weights of the base were rounded on images. A change of such a base learns anew.
bool is_rounded_on_images(const StaticInputs& base);

/// Makes changed models of a base, and runs them.
class Trials {
 public:
  /// The number of models in memory at a time, without the FP32 model.
  static constexpr std::size_t kTogether = 6;

  /// All arguments that are references must outlive the object. `intervals`: of the scores.
  Trials(const Executor& fp32, const StaticInputs& base, const Samples& samples,
         const SuggestOptions& options, TrialIntervals intervals = TrialIntervals::kNone);

  /// The changed model; null where the change has no effect or nothing is left on integers.
  [[nodiscard]] std::unique_ptr<Executor> model(const Change& change) const;
  /// The table that another method gives; null where the method refuses. Needs
  /// SuggestOptions::statistics.
  [[nodiscard]] const CalibrationTable* table_by_method(const std::string& method) const;
  /// Fills in the noise and the score of each trial. Cost: one run of each model per sample, and
  /// one of FP32; see reference().
  void run(std::span<Trial> trials) const;
  /// The images that the runs left out, in the order of the list. Every run leaves out the same.
  [[nodiscard]] const std::vector<BadImage>& bad() const noexcept { return bad_; }
  /// For each of `changes`, how much slower the changed model is than the base model: the
  /// median of the differences, run by run, on the first image. The models take turns. Sets
  /// `base_seconds` to the median time of the base model.
  [[nodiscard]] std::vector<MedianInterval> slower(std::span<const Change> changes,
                                                   double& base_seconds) const;
  /// For each of `changes`, the cost of the changed model over the base model on the first image.
  /// Only these two take turns, as in a program that runs one model. With all of them in one race,
  /// each finds the caches full of the weights of others.
  [[nodiscard]] std::vector<RunCost> costs(std::span<const Change> changes) const;

  /// The shapes of the inputs, in the order of the inputs.
  [[nodiscard]] const std::vector<Shape>& shapes() const noexcept { return shapes_; }
  /// Times for the first image on one thread.
  struct Seconds {
    double fp32 = 0.0;
    double int8 = 0.0;  ///< for the base model; 0 where there is none
    double make = 0.0;  ///< for making and compiling that model once
    double read = 0.0;  ///< for reading and decoding the image
  };
  [[nodiscard]] Seconds seconds_of_image() const;

 private:
  [[nodiscard]] std::vector<Tensor> first() const;
  [[nodiscard]] CalibrationTable table_of(const Change& change) const;
  /// What the model with the change is quantized with. Cost: that of what it learns, if it does.
  [[nodiscard]] StaticInputs inputs_of(const Change& change) const;
  /// The model that quantize() makes with these inputs; null as for model(). Several threads may
  /// call it at the same time.
  [[nodiscard]] std::unique_ptr<Executor> made_of(const Change& change,
                                                  const StaticInputs& inputs) const;
  /// A model and its plan beside that of FP32; both null where there is none, as for model().
  struct Made {
    std::unique_ptr<Executor> executor{};
    ModelPair pair{};
  };
  /// The models of the trials, which are made on all threads. Sets the seconds of making each.
  [[nodiscard]] std::vector<Made> make(std::span<Trial> trials) const;
  /// The recipe of the model with the change.
  [[nodiscard]] Recipe recipe_of(const Change& change) const;
  /// What the steps of a recipe learned, and the rounding that suits it.
  struct LearnedChange {
    Learned learned;
    std::string rounding;
    double seconds = 0.0;  ///< time that learning takes a command
  };
  /// What a change learns from samples. It is learned once for each change, and once for those that
  /// differ only in tensors of 16 bits.
  [[nodiscard]] const LearnedChange& learned_of(Change change) const;
  /// The inputs of the model with the change, without anything that is learned.
  [[nodiscard]] StaticInputs unlearned(const Change& change, const Recipe& recipe) const;
  void run_some(std::span<Trial> trials, std::size_t before, std::size_t all) const;
  /// The outputs of FP32 for a sample. They are computed by the first run of the sample and kept,
  /// unless there is no room. The views are valid until the next run on the same workspace.
  [[nodiscard]] std::vector<TensorView> reference(const Plan& fp32, std::size_t sample,
                                                  std::span<const TensorView> inputs,
                                                  Workspace& workspace) const;

  const Executor& fp32_;
  const StaticInputs& base_;
  const Samples& samples_;
  const SuggestOptions& options_;
  TrialIntervals intervals_;
  std::vector<Shape> shapes_;
  /// The base table with the scales of other weight methods, which may take seconds to choose. The
  /// key is the weight method and the effort, whose rewrites change the weights.
  mutable std::map<std::pair<std::string, std::string>, CalibrationTable> by_weight_method_;
  mutable std::map<std::string, std::optional<CalibrationTable>> by_method_;
  mutable std::list<std::pair<Change, LearnedChange>> learned_;
  mutable KnownLayers known_layers_;
  mutable double saved_seconds_ = 0.0;  ///< what a command would have taken longer to learn
  mutable std::vector<BadImage> bad_;
  mutable std::vector<std::vector<Tensor>> references_;  ///< by sample; empty where none are kept
  mutable std::atomic<std::int64_t> reference_bytes_ = 0;
};

}  // namespace qtool
