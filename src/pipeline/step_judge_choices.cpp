#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "on_images/known_layers.h"
#include "pipeline/making.h"
#include "pipeline/paired_gains.h"
#include "qtool/base/error.h"
#include "qtool/samples/hold_back.h"

namespace qtool {

bool wants_round_weights(const Recipe& recipe);

namespace {

// No output may lose more than this in the mean over the samples that judge.
constexpr double kMostLostDb = 0.1;

// A choice that changes no output by more than this changes nothing.
constexpr double kNothingDb = 0.05;

// Fewer samples show large gains only, and most choices would be taken back because of that.
constexpr std::int64_t kLeastToJudge = 30;
constexpr std::int64_t kLeastOfPart = kLeastToJudge / kHoldOutParts;
// More samples take longer, and hardly change what is decided.
constexpr std::int64_t kMostToJudge = 150;

// Images of which more than this are held back are run once each, fewer in several views.
constexpr std::int64_t kRuns = 160;

/// A choice that an effort makes: how a recipe gets it, and loses it.
struct Choice {
  std::string_view name;
  void (*take_back)(Recipe& recipe);
};

/// In the order in which they are judged: each beside those that are not taken back. `of_table`:
/// the rewrites of the table, which stay in any case.
std::vector<Choice> choices_of(const Recipe& effort, const std::vector<std::string>& of_table) {
  std::vector<Choice> all;
  if (effort.judged.bias_correction) {
    all.push_back(
        {"sequential", [](Recipe& recipe) { recipe.bias_correction = BiasCorrection::kTable; }});
  }
  if (effort.judged.rewrites && effort.rewrites && *effort.rewrites != of_table) {
    all.push_back({effort.rewrites->front(), [](Recipe& recipe) { recipe.rewrites.reset(); }});
  }
  if (effort.judged.rounding) {
    all.push_back({*effort.rounding,
                   [](Recipe& recipe) { recipe.rounding = info_of(Effort::kFast).rounding; }});
  }
  return all;
}

/// The recipe with all choices, and without steps that follow them.
Recipe with_all(Recipe recipe) {
  if (recipe.judged.bias_correction) recipe.bias_correction = BiasCorrection::kSequential;
  // Another rounding takes minutes, and says no more of the other choices.
  if (!recipe.judged.rounding && wants_round_weights(recipe)) {
    recipe.rounding = info_of(recipe.effort).rounding;
  }
  recipe.may_judge = false;
  recipe.judged = {};
  recipe.tune_ranges = false;
  return recipe;
}

/// The options of quantize() for the choices of `recipe`, but for the rounding: weights are rounded
/// to nearest until their step.
void write_choices(const Recipe& recipe, StaticOptions& options) {
  options.rewrites = recipe.rewrites;
  options.bias_correction = recipe.bias_correction.value();
}

/// Counts the samples of several parts of the step as one progress.
class PartsProgress {
 public:
  PartsProgress(Progress all, std::int64_t parts, std::int64_t samples)
      : all_(std::move(all)), parts_(parts), samples_(samples) {}

  Progress next() {
    const std::int64_t part = std::min(begun_++, parts_ - 1);
    return [this, part](std::int64_t done, std::int64_t total) {
      const std::int64_t of_part = total > 0 ? done * samples_ / total : 0;
      return all_(part * samples_ + of_part, parts_ * samples_);
    };
  }

  /// What is left is not needed.
  void finish() { static_cast<void>(all_(parts_ * samples_, parts_ * samples_)); }

 private:
  Progress all_;
  std::int64_t parts_;
  std::int64_t samples_;
  std::int64_t begun_ = 0;
};

/// Whether the answer of is_clear_gain() is unlikely to change with more samples, or hardly
/// matters.
bool is_decided(const std::vector<MeanGain>& gains) {
  const bool is_nothing = std::ranges::all_of(gains, [](const MeanGain& gain) {
    return gain.interval && gain.interval->low > -kNothingDb && gain.interval->high < kNothingDb;
  });
  const bool loses = std::ranges::any_of(
      gains, [](const MeanGain& gain) { return gain.interval && gain.interval->high < 0.0; });
  return is_nothing || loses || is_clear_gain(gains, kMostLostDb);
}

/// Makes models on some of the samples, and compares them on the others.
class Judge {
 public:
  explicit Judge(Making& making)
      : making_(making),
        choices_(choices_of(making.recipe, making.inputs.table.rewrites.names)),
        kept_(with_all(making.recipe)),
        progress_(making.collect().progress, parts(), making.samples->size()) {
    run_.preprocess = making.options.preprocess;
    run_.bad_images = making.options.bad_images;
    run_.threads = making.options.threads;
    run_.stop = making.options.stop;
    const Samples some = making.samples->spread(std::min(kMostToJudge, making.samples->size()));
    for (std::int64_t part = 0; part < kHoldOutParts; ++part) {
      folds_.push_back({some.all_but_part(part, kHoldOutParts), some.part(part, kHoldOutParts)});
    }
  }

  /// The recipe with the choices that are kept; empty where too few samples are usable.
  std::optional<Recipe> judge() {
    for (const Choice& choice : choices_) {
      if (!judge(choice)) return std::nullopt;
    }
    progress_.finish();
    return kept_;
  }

 private:
  /// Samples to learn from, and the others, which judge.
  struct Fold {
    Samples learning;
    Samples held;
    KnownLayers known{};
    std::optional<Quantized> kept{};  ///< the model of the choices that are kept so far
  };

  /// False where too few samples are usable.
  bool judge(const Choice& choice) {
    Recipe recipe = kept_;
    choice.take_back(recipe);
    std::vector<std::vector<double>> by_sample;
    std::vector<std::optional<Quantized>> without(folds_.size());
    JudgedChoice judged;
    judged.name = choice.name;
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      Fold& fold = folds_[f];
      if (!fold.kept) fold.kept = model(kept_, fold);
      without[f] = model(recipe, fold);
      run_.progress = progress_.next();
      PairedGains trial(*making_.fp32, without[f]->graph, fold.kept->graph, fold.held, run_);
      trial.add(fold.held, "judgement of choices", kRuns / fold.held.size());
      by_sample.insert(by_sample.end(), trial.by_sample().begin(), trial.by_sample().end());
      judged.gains = mean_gains(by_sample);
      if (std::ssize(by_sample) >= kLeastOfPart && is_decided(judged.gains)) break;
    }
    judged.samples = std::ssize(by_sample);
    if (judged.samples < kLeastOfPart) return false;
    const bool has_effect = std::ranges::any_of(by_sample, [](const std::vector<double>& gains) {
      return std::ranges::any_of(gains, [](double gain) { return gain != 0.0; });
    });
    if (!has_effect) return true;  // the steps that follow say why
    judged.is_kept = is_clear_gain(judged.gains, kMostLostDb);
    if (!judged.is_kept) {
      kept_ = std::move(recipe);
      for (std::size_t f = 0; f < folds_.size(); ++f) folds_[f].kept = std::move(without[f]);
    }
    making_.report.judged.push_back(std::move(judged));
    return true;
  }

  /// The model of a recipe that learns from the samples of a fold.
  Quantized model(const Recipe& recipe, Fold& fold) {
    MakeOptions options = making_.options;
    options.begin = [this](const RecipeStep& /*step*/) { return progress_.next(); };
    options.end = {};
    options.resume = {};
    options.known_layers = &fold.known;
    StaticInputs inputs = making_.inputs;
    write_choices(recipe, inputs.options);
    LearnReport report;
    Making making{making_.prepared, making_.fp32, recipe, &fold.learning, options, inputs, report};
    run_steps(StepGives::kLearned, making);
    return quantize(making.prepared, inputs);
  }

  /// How often some of the samples are run at most.
  [[nodiscard]] std::int64_t parts() const {
    const std::int64_t learning = std::ssize(learning_steps(kept_));
    return kHoldOutParts * (learning + std::ssize(choices_) * (learning + 1));
  }

  Making& making_;
  std::vector<Choice> choices_;
  Recipe kept_;
  PartsProgress progress_;
  SampleRunOptions run_;
  std::vector<Fold> folds_;
};

}  // namespace

bool wants_judge_choices(const Recipe& recipe) { return recipe.judged.any(); }

/// Takes a choice of the effort back unless it makes held samples better: some output's SQNR is
/// higher with it than without it by more than the interval, and none is lower. Each third of the
/// samples is held back in turn while models learn from the others, until the choice is decided.
/// The steps that follow learn again, from all samples. With too few samples, and with some that
/// cannot be compared, the choices stay as the effort makes them. So does one that has no effect.
/// Choices that are not judged yet are in both models: equalization and a
/// correction of biases gain more beside weights that are rounded well, where less noise hides it.
/// Source: cross-validation, see Hastie, Tibshirani, Friedman, The Elements of Statistical
/// Learning, chapter 7; the steps back are those of backward selection, chapter 3.
void step_judge_choices(Making& making) {
  if (making.samples->size() < kLeastToJudge) return;
  std::optional<Recipe> judged;
  try {
    judged = Judge(making).judge();
  } catch (const Error& error) {
    // Samples of several shapes, for example, are learned from, but not compared.
    if (error.code() == ErrorCode::kCancelled) throw;
  }
  if (!judged) {
    making.report.judged.clear();
    return;
  }
  Recipe& recipe = making.recipe;
  if (recipe.judged.rewrites) recipe.rewrites = judged->rewrites;
  if (recipe.judged.rounding) recipe.rounding = judged->rounding;
  if (recipe.judged.bias_correction) recipe.bias_correction = judged->bias_correction;
  write_choices(recipe, making.inputs.options);
}

}  // namespace qtool
