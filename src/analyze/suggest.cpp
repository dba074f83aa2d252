#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "analyze/exclusions.h"
#include "analyze/suggest_choice.h"
#include "analyze/suggest_recipes.h"
#include "analyze/suggest_trials.h"
#include "base/parallel.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "compare/output_noise.h"
#include "qtool/analyze/analyze.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"

namespace qtool {
namespace {

/// Two ranges differ if an end moves by more than this share of the width.
constexpr double kOtherRange = 0.1;
/// The number of best exclusions that are tried together with the changes that cost no time.
constexpr std::size_t kBestNodes = 3;
/// The number of worst tensors that are tried with the ranges of other methods.
constexpr std::size_t kMostByMethod = 3;
/// The number of best tensors in 16 bits that are tried together.
constexpr std::size_t kMostWide = 6;

class SuggestionSearch {
 public:
  SuggestionSearch(const Executor& fp32, const StaticInputs& base, const AnalyzeResult& analysis,
                   const Samples& samples, const SuggestOptions& options)
      : base_(base),
        analysis_(analysis),
        options_(options),
        noun_(samples.noun()),
        exclusions_(fp32.graph(), base),
        trials_(fp32, base, samples, options, TrialIntervals::kOfAnswers) {}

  SuggestResult run() {
    add({});  // the model as it is
    add_recipes();
    add_exclusions();
    add_wide();
    add_ranges();
    add_ranges_of_methods();
    add_methods();
    add_weight_methods();
    add_rewrites();
    run_new();
    if (!tried_.front().noise) {
      throw Error(ErrorCode::kUnsupported,
                  "no change can be tried: nothing of the model that is made again is on integers");
    }
    const double unchanged = noise_decibels(*tried_.front().noise);
    add_together(unchanged);
    run_new();

    SuggestResult result;
    result.noun = noun_;
    result.sqnr_db = unchanged;
    result.answers = kept_answers(tried_.front().score);
    result.min_gain_db = options_.min_gain_db;
    result.threads = resolve_threads(options_.threads);
    result.suggestions = suggestions();
    result.tried = std::count_if(tried_.begin() + 1, tried_.end(),
                                 [](const Trial& trial) { return trial.noise.has_value(); });
    result.images = tried_.front().score.images;
    if (options_.learning) result.learned_on = options_.learning->samples.size();
    result.integer_share = tried_.front().score.integer_share;
    result.by_source = by_source(unchanged);
    result.bad = trials_.bad();
    if (result.suggestions.empty()) return result;
    std::vector<Change> changes;
    for (const Suggestion& suggestion : result.suggestions) changes.push_back(suggestion.change);
    const std::vector<RunCost> costs = trials_.costs(changes);
    std::vector<double> base_seconds;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      result.suggestions[i].cost = costs[i];
      base_seconds.push_back(costs[i].base_seconds);
    }
    result.int8_seconds = median(std::move(base_seconds));
    return result;
  }

 private:
  void add(Change change) {
    const bool known = std::any_of(tried_.begin(), tried_.end(),
                                   [&](const Trial& trial) { return trial.change == change; });
    if (!known) tried_.push_back({std::move(change)});
  }

  void run_new() {
    trials_.run(std::span(tried_).subspan(run_));
    run_ = tried_.size();
  }

  /// The words that name the samples to learn from; none without such samples.
  [[nodiscard]] std::vector<std::string> learning_words() const {
    return options_.learning ? options_.learning->words : std::vector<std::string>();
  }

  /// The best changes. Where the base was rounded on images, a command rounds the weights again for
  /// every change. So the changes that were tried with the weights of one rounding are tried again
  /// as the command makes them, and only these results count.
  std::vector<Suggestion> suggestions() {
    std::vector<Suggestion> best = chosen(tried_, options_);
    if (!is_rounded_on_images(base_) || !options_.learning) return best;
    for (Suggestion& suggestion : best) {
      suggestion.change.learned_on = learning_words();
      add(std::move(suggestion.change));
    }
    run_new();
    std::vector<Trial> exact{tried_.front()};
    std::copy_if(tried_.begin() + 1, tried_.end(), std::back_inserter(exact),
                 [](const Trial& trial) { return !trial.change.learned_on.empty(); });
    return chosen(exact, options_);
  }

  void add_recipes() {
    for (Change& change : recipe_changes(base_, learning_words())) {
      // Without samples, the weights cannot be rounded for another target.
      if (change.learned_on.empty() && is_rounded_on_images(base_)) continue;
      add(std::move(change));
    }
  }

  /// Adds a change to the trials, and notes the source that it is tried for.
  void add_for(const ErrorSource& source, std::string what, const Change& change) {
    for_source_.push_back({source.name, source.kind, std::move(what), change});
    add(change);
  }

  /// The activations with the most noise.
  [[nodiscard]] std::vector<const ErrorSource*> worst_activations() const {
    std::vector<const ErrorSource*> worst;
    for (const ErrorSource& source : analysis_.sources) {
      if (source.kind != SourceKind::kActivation) continue;
      if (std::ssize(worst) >= options_.sources || !(source.noise > 0.0)) break;
      worst.push_back(&source);
    }
    return worst;
  }

  [[nodiscard]] Change excluding(const NodeSet& nodes) const {
    return {.exclude = exclusions_.names_of(nodes)};
  }

  /// Adds the exclusion of each set alone, and of the first sets together.
  void add_unions(const std::vector<NodeSet>& sets) {
    NodeSet all;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      add(excluding(sets[i]));
      all = joined(all, sets[i]);
      if (i + 1 <= 4 || i % 2 == 1 || i + 1 == sets.size()) add(excluding(all));
    }
  }

  void add_exclusions() {
    std::vector<NodeSet> sets;
    for (const ErrorSource& source : analysis_.sources) {
      if (std::ssize(sets) >= options_.sources || !(source.noise > 0.0)) break;
      NodeSet nodes = exclusions_.of(source);
      if (!nodes.empty() && source.kind != SourceKind::kActivation) {
        add_for(source, "FP32", excluding(nodes));
      }
      if (nodes.empty() || std::find(sets.begin(), sets.end(), nodes) != sets.end()) continue;
      sets.push_back(std::move(nodes));
    }
    add_unions(sets);
    for (const ErrorSource* source : worst_activations()) {
      if (const NodeSet nodes = exclusions_.of(*source); !nodes.empty()) {
        add_for(*source, "FP32", excluding(nodes));
      }
    }
  }

  /// Adds each of the worst tensors in 16 bits alone, and the first of them together.
  void add_wide() {
    const Target target = chosen_target(base_.table, base_.options);
    if (!target.wide_activations || target.activations.bits != 8) return;
    Change together;
    for (const ErrorSource* source : worst_activations()) {
      const std::vector<std::string>& already = base_.options.wide;
      if (std::find(already.begin(), already.end(), source->name) != already.end()) continue;
      add_for(*source, "16 bits", {.wide = {source->name}});
      together.wide.push_back(source->name);
      if (together.wide.size() % 2 == 0) add(together);
    }
    if (!together.wide.empty()) add(together);
  }

  /// Whether an end of `range` differs from `used`, see kOtherRange.
  static bool differ(const Range& used, const Range& range) {
    const double width = static_cast<double>(used.max) - used.min;
    const double other = std::max(std::abs(static_cast<double>(range.min) - used.min),
                                  std::abs(static_cast<double>(range.max) - used.max));
    return std::isfinite(other) && other > kOtherRange * width;
  }

  /// Whether a tensor can get the range, and the range differs from the one in use.
  [[nodiscard]] bool is_other_range(const ErrorSource& source, const Range& range) const {
    if (!differ(source.range, range) || range == Range()) return false;
    if (source.scaled) return false;  // the table has the range of the undivided tensor
    return base_.table.find(source.name) != nullptr;
  }

  void add_ranges() {
    for (const ErrorSource* source : worst_activations()) {
      if (!is_other_range(*source, source->seen)) continue;
      add_for(*source, "range of the images", {.ranges = {{source->name, source->seen}}});
    }
  }

  /// Adds, for each of the worst tensors, the ranges that other methods would choose for this
  /// tensor alone. Where ranges are nearly the same, only the first one is tried.
  void add_ranges_of_methods() {
    if (options_.statistics == nullptr) return;
    std::vector<const ErrorSource*> worst = worst_activations();
    worst.resize(std::min(worst.size(), kMostByMethod));
    for (const ErrorSource* source : worst) {
      std::vector<Range> known{source->seen};
      for (const MethodInfo& method : methods()) {
        if (method.name == base_.table.method) continue;
        const CalibrationTable* table = trials_.table_by_method(std::string(method.name));
        const ActivationEntry* entry = table == nullptr ? nullptr : table->find(source->name);
        if (entry == nullptr || !is_other_range(*source, entry->range)) continue;
        const bool is_known = std::any_of(known.begin(), known.end(), [&](const Range& range) {
          return !differ(range, entry->range);
        });
        if (is_known) continue;
        known.push_back(entry->range);
        add_for(*source, to_text("range by ", method.name),
                {.ranges = {{source->name, entry->range}}});
      }
    }
  }

  void add_methods() {
    // Weights that were rounded on images would be rounded anew for each method.
    if (options_.statistics == nullptr || is_rounded_on_images(base_)) return;
    for (const MethodInfo& method : methods()) {
      if (method.name != base_.table.method) add({.method = std::string(method.name)});
    }
  }

  // Biases that are taken from a model compensate for the errors of its own weights. They do not
  // suit the weights of another method.
  void add_weight_methods() {
    const bool is_sequential = base_.options.bias_correction == BiasCorrection::kSequential;
    if (is_sequential && !options_.learning) return;
    if (is_rounded_on_images(base_)) return;
    const Target target = chosen_target(base_.table, base_.options);
    for (const WeightMethodInfo& method : weight_methods()) {
      if (method.name != target.weight_method) add({.weight_method = std::string(method.name)});
    }
  }

  void add_rewrites() {
    if (!rewrites_of(base_).empty() || is_rounded_on_images(base_)) return;
    add({.rewrites = std::vector<std::string>{"equalize"}});
  }

  // A correction takes long. So it is tried only twice: alone, and with the best changes that cost
  // no time.
  void add_with_correction(Change change) {
    if (!options_.learning) return;
    change.corrects_biases = true;
    change.learned_on = learning_words();
    add(std::move(change));
  }

  /// Adds the best recipe for another target with the worst tensors in 16 bits, if that has them.
  void add_wide_recipe(const std::vector<Change>& gains) {
    const auto best = std::find_if(gains.begin(), gains.end(),
                                   [](const Change& change) { return !change.target.empty(); });
    if (best == gains.end() || !find_target(best->target).wide_activations) return;
    std::vector<std::string> worst;
    for (const ErrorSource* source : worst_activations()) worst.push_back(source->name);
    for (Change& change : with_wide(*best, worst)) add(std::move(change));
  }

  /// Combines the changes that gained something alone: nodes in FP32 in the order of their measured
  /// gain, and all changes that cost no time, with and without the best nodes in FP32.
  void add_together(double unchanged) {
    std::vector<Change> gains;
    std::stable_sort(tried_.begin() + 1, tried_.end(), [](const Trial& a, const Trial& b) {
      return a.noise && (!b.noise || *a.noise < *b.noise);
    });
    for (const Trial& trial : tried_) {
      if (trial.noise && noise_decibels(*trial.noise) > unchanged) gains.push_back(trial.change);
    }
    Change free;
    std::vector<NodeSet> sets;
    add_wide_recipe(gains);
    std::erase_if(gains, [](const Change& change) { return !change.target.empty(); });
    for (const Change& change : gains) {
      for (const Overrides::GivenRange& given : change.ranges) {
        const bool has = std::any_of(free.ranges.begin(), free.ranges.end(),
                                     [&](const auto& one) { return one.tensor == given.tensor; });
        if (!has) free.ranges.push_back(given);  // the best one, because gains are sorted
      }
      if (!free.rewrites) free.rewrites = change.rewrites;
      if (free.weight_method.empty()) free.weight_method = change.weight_method;
      if (free.effort.empty()) free.effort = change.effort;
      if (change.exclude.empty() || !change.wide.empty()) continue;
      const bool has_part = std::any_of(gains.begin(), gains.end(), [&](const Change& other) {
        return !other.exclude.empty() && other.exclude.size() < change.exclude.size() &&
               holds(change, other);
      });
      if (!has_part && std::ssize(sets) < options_.sources)
        sets.push_back(exclusions_.nodes_of(change.exclude));
    }
    add_unions(sets);
    Change wide;
    for (const Change& change : gains) {
      if (change.wide.size() == 1 && wide.wide.size() < kMostWide) {
        wide.wide.push_back(change.wide.front());
        if (wide.wide.size() % 2 == 0) add(wide);
      }
    }
    if (free == Change()) return;
    if (!free.effort.empty()) {
      free.learned_on = learning_words();
      free.rewrites.reset();  // the effort has its own
    }
    add(free);
    add_with_correction(free);
    if (!wide.wide.empty()) {
      Change both = free;
      both.wide = wide.wide;
      add(both);
    }
    NodeSet all;
    for (std::size_t i = 0; i < sets.size() && i < kBestNodes; ++i) {
      all = joined(all, sets[i]);
      for (const auto& nodes : {sets[i], all}) {
        if (!free.learned_on.empty() && nodes != all) continue;  // learning takes long
        free.exclude = exclusions_.names_of(nodes);
        add(free);
      }
    }
  }

  [[nodiscard]] std::vector<SourceTrial> by_source(double unchanged) const {
    std::vector<SourceTrial> found;
    for (const ErrorSource& source : analysis_.sources) {
      for (SourceTrial trial : for_source_) {
        if (trial.source != source.name || trial.kind != source.kind) continue;
        const auto tried = std::find_if(tried_.begin(), tried_.end(), [&](const Trial& one) {
          return one.change == trial.change;
        });
        if (tried == tried_.end() || !tried->noise) continue;
        trial.gain_db = noise_decibels(*tried->noise) - unchanged;
        // A command rounds the weights on images again.
        if (is_rounded_on_images(base_)) trial.change.learned_on = learning_words();
        found.push_back(std::move(trial));
      }
    }
    return found;
  }

  const StaticInputs& base_;
  const AnalyzeResult& analysis_;
  const SuggestOptions& options_;
  std::string noun_;
  Exclusions exclusions_;
  Trials trials_;
  std::vector<Trial> tried_;
  std::vector<SourceTrial> for_source_;  // their gains are filled in by by_source()
  std::size_t run_ = 0;
};

}  // namespace

SuggestResult suggest(const Executor& fp32, const StaticInputs& base, const AnalyzeResult& analysis,
                      const Samples& samples, const SuggestOptions& options) {
  return SuggestionSearch(fp32, base, analysis, samples, options).run();
}

}  // namespace qtool
