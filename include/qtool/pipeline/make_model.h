#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/compare/evaluate.h"
#include "qtool/image/preprocess.h"
#include "qtool/on_images/tune_ranges.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;
class KnownLayers;
class PartialResults;

struct LearnReport;

/// How the steps of a recipe are run. Except for `preprocess` and `bad_images`, nothing here
/// changes the model.
struct MakeOptions {
  Preprocess preprocess{};
  BadImages bad_images = BadImages::kSkip;
  int threads = 0;  ///< 0 = all available
  /// Fingerprint of the model as loaded; without it that of the graph of `fp32`.
  std::optional<std::uint64_t> model_fingerprint{};
  std::string version{};  ///< of the program, for the metadata of the model
  StopCheck stop{};       ///< asked often; true ends the work with ErrorCode::kCancelled
  /// Called when a step begins. The progress that it returns counts the items of the step.
  std::function<Progress(const RecipeStep& step)> begin{};
  /// Called when a step has ended, with the report so far.
  std::function<void(const RecipeStep& step, const LearnReport& report)> end{};
  /// Returns the kept results of the same work that was stopped before; null for none. `key`: a
  /// hash of everything that the results depend on. The caller of learn() removes them once the
  /// model is written.
  std::function<PartialResults*(std::uint64_t key)> resume{};
  /// Layers that were rounded on the same samples for other models. learn() takes those that it
  /// needs and adds its own. May be null.
  KnownLayers* known_layers = nullptr;
};

/// A choice of the effort that held samples judged.
struct JudgedChoice {
  std::string name;  ///< `equalize`, `gptq`, `sequential`
  bool is_kept = false;
  std::vector<MeanGain> gains;  ///< by output of real numbers
  std::int64_t samples = 0;     ///< that judged
};

/// What the steps report, beside the table, the model and StaticInputs::learned.
struct LearnReport {
  struct Took {
    std::string_view step;
    double seconds = 0.0;
  };
  std::vector<Took> took;             ///< by step, in their order
  std::optional<RangeTuning> tuning;  ///< its ranges are in Learned; nothing: not tuned, or no time
  bool tuning_ran_out_of_time = false;
  std::vector<JudgedChoice> judged;  ///< empty: none, or too few samples to hold some back
  std::optional<PairChoice> pairs;   ///< see choose_pairs()
  bool nothing_was_rounded = false;  ///< no layer can be rounded on images: all are to nearest
  std::vector<BadImage> bad;         ///< images that the last such step left out
  std::optional<std::string> doubt;  ///< why the samples may be unfit to set ranges
};

/// The options of quantize() for `recipe`, before anything is learned from samples; see
/// static_options().
StaticOptions static_options(const Recipe& recipe, const MakeOptions& options);

/// A given table and the options of `recipe`. Ranges and scales of the recipe replace those of the
/// table. The model will carry the hash of the table as given. A mode without a table takes only
/// the channel means of `table`, to correct biases, and an empty table has none. Throws as
/// chosen_target() and apply_overrides() do.
StaticInputs inputs_of_table(const Recipe& recipe, CalibrationTable table,
                             const MakeOptions& options);

/// The recipe that names the rewrites and the rounding of `made`, so that nothing is judged again.
/// Biases are corrected from the table: a change of the model needs a new correction on samples.
Recipe as_made(Recipe recipe, const StaticInputs& made);

/// A table for `recipe`: samples are observed and ranges are decided. The table names the rewrites
/// of the recipe itself. Those of its effort come with the model, so that the table serves every
/// effort. Throws as calibrate(). Cost: its.
StaticInputs inputs_of_samples(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                               const MakeOptions& options, LearnReport& report);

/// The learning steps of `recipe`: where its effort judges, the choices of the effort are kept or
/// taken back; then ranges are tuned, weights are rounded and biases are corrected
/// by what `samples` do to the network. `fp32` holds the prepared graph that `inputs.table` belongs
/// to. The results go to `inputs.learned`. Where the recipe has a budget, half of it at most goes
/// to the ranges, and layers for which none is left are rounded by `gptq`. The result does not
/// depend on the number of threads. Throws as tune_ranges(), round_on_images() and
/// sequential_bias_shifts(). Cost: theirs.
LearnReport learn(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                  const MakeOptions& options, StaticInputs& inputs);

/// An INT8 model with all that it was made from.
struct MadeModel {
  StaticInputs inputs;
  LearnReport learned;
  Quantized int8;
  std::optional<Verification> verified;  ///< where Recipe::min_sqnr_db asks for it
};

/// The whole way: samples are observed, ranges are decided, the steps of `recipe` learn from the
/// samples, and the model is emitted and compared with FP32. `fp32` holds the prepared model.
/// Throws as calibrate(), learn(), quantize() and verify(). Cost: theirs.
MadeModel make_model(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                     const MakeOptions& options = {});

/// The way from a table to the model. `samples`: null if there are none; then Error(kUsage) names
/// the first step that needs them.
MadeModel make_model(const Executor& fp32, const Recipe& recipe, StaticInputs inputs,
                     const Samples* samples, const MakeOptions& options = {});

/// The way from a table to the model without samples, for every mode. The network is not run, so
/// that its operators need not be supported. Throws Error(kUsage) if a step needs samples.
MadeModel make_model(const Graph& prepared, const Recipe& recipe, StaticInputs inputs,
                     const MakeOptions& options = {});

}  // namespace qtool
