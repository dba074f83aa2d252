#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/method.h"
#include "qtool/calib/overrides.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"

namespace qtool {

/// How much is done for accuracy.
enum class Effort : std::uint8_t {
  kFast,      ///< nothing beyond the table
  kBalanced,  ///< seconds to minutes on images
  kBest,      ///< minutes, within Recipe::budget_seconds
};

/// A row of the list of efforts: the choices that an effort makes where the recipe makes none.
struct EffortInfo {
  Effort effort = Effort::kFast;
  std::string_view name;
  bool equalizes = false;     ///< the rewrite `equalize`
  std::string_view rounding;  ///< of weights
  bool tunes_ranges = false;
  bool has_budget = false;  ///< whether Recipe::budget_seconds counts
  /// Whether samples that are held back judge these choices, and a correction of the biases on
  /// samples; see the step `judge_choices`.
  bool judges = false;
};

/// The effort for the first model of a network: it takes little time, and improves most networks.
inline constexpr std::string_view kFirstEffort = "balanced";

/// Every effort, from the least to the most.
std::span<const EffortInfo> efforts() noexcept;
const EffortInfo& info_of(Effort effort) noexcept;
/// The effort called `name`. Throws Error(kUsage) with the nearest names.
const EffortInfo& find_effort(std::string_view name);

/// Choices that the recipe left to an effort that judges them.
struct JudgedChoices {
  bool rewrites = false;
  bool rounding = false;
  bool bias_correction = false;

  [[nodiscard]] bool any() const { return rewrites || rounding || bias_correction; }
};

/// How an INT8 model is made from an FP32 network and images: choices only, no results. The modes
/// without a table need no images. Ranges, learning steps, rewrites and other forms than QDQ have
/// no effect on them, and a recipe that asks for some is refused.
struct Recipe {
  QuantizeMode mode = QuantizeMode::kStatic;
  std::string target{kDefaultTarget};
  std::string method{kDefaultMethod};  ///< of calibration
  MethodOptions method_options;        ///< the scheme is always that of the target's activations
  TypeChoices types;                   ///< over the target's
  Effort effort = Effort::kFast;
  /// Rewrites before quantizing, see StaticOptions::rewrites. Without it those of the effort, and
  /// where it has none those of the table.
  std::optional<std::vector<std::string>> rewrites;
  bool tune_ranges = false;             ///< the effort may ask for it too
  std::optional<std::string> rounding;  ///< of weights; without it that of the effort
  /// Without it: kTable, or kSequential where the effort judges it and held samples gain by it.
  std::optional<BiasCorrection> bias_correction;
  DynamicLstm dynamic_lstm = DynamicLstm::kStandard;  ///< with QuantizeMode::kDynamic
  Overrides overrides;  ///< nodes in FP32, tensors of 16 bits, ranges and scales from the user
  ModelForm form = ModelForm::kQdq;
  /// Bytes for what the rounding of weights learns about the inputs of layers.
  std::int64_t rounding_memory = std::int64_t{1} << 30;
  double budget_seconds = 600.0;  ///< for learning from images, where the effort has a budget
  bool may_judge = true;          ///< false: the choices of the effort stand as they are
  JudgedChoices judged{};         ///< set by resolved()
  /// The SQNR that every output of the finished model must reach; see verify(). Without it the
  /// model is not compared with FP32.
  std::optional<double> min_sqnr_db;
};

/// The recipe with the choices of its effort written out: `rounding` and `bias_correction` have
/// values, and `judged` says which of the choices are open to judgement.
Recipe resolved(Recipe recipe);

/// The options of quantize() that a recipe stands for, before anything is learned from samples: if
/// the rounding needs data about the inputs of layers, weights are rounded to nearest until the
/// step `round_weights`. Fingerprint, threads and version are those of the caller.
StaticOptions static_options(const Recipe& recipe);

/// The data that a step on the way to a model needs.
enum class StepNeeds : std::uint8_t {
  kNothing,     ///< the choices, and the results of earlier steps
  kStatistics,  ///< a calibration table
  kSamples,     ///< images or tensors to run the network on
};

/// The result of a step.
enum class StepGives : std::uint8_t {
  kTable,    ///< the calibration table
  kLearned,  ///< a part of Learned
  kModel,    ///< the INT8 model, or a judgement of it
};

/// A row of the list of steps, which is in their order.
struct RecipeStep {
  std::string_view name;    ///< `round_weights`
  std::string_view counts;  ///< what its progress counts in addition to the samples: ` and layers`
  StepNeeds needs = StepNeeds::kNothing;
  StepGives gives = StepGives::kLearned;
  bool (*is_wanted)(const Recipe& recipe) = nullptr;  ///< by a resolved recipe
};

/// Every step on the way to a model, in their order.
std::span<const RecipeStep> recipe_steps() noexcept;

/// The steps on samples that a recipe asks for between its table and its model.
std::vector<RecipeStep> learning_steps(const Recipe& recipe);

}  // namespace qtool
