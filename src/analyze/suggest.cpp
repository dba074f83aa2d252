#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/exclusions.h"
#include "analyze/suggest_trials.h"
#include "base/parallel.h"
#include "base/text.h"
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
        exclusions_(fp32.graph(), base),
        trials_(fp32, base, samples, options) {}

  SuggestResult run() {
    add({});  // the model as it is
    add_exclusions();
    add_wide();
    add_ranges();
    add_ranges_of_methods();
    add_methods();
    add_weight_methods();
    add_rewrites();
    add_with_correction({});
    run_new();
    if (!tried_.front().noise) {
      throw Error(ErrorCode::kUnsupported,
                  "no change can be tried: nothing of the model that is made again is on integers");
    }
    const double unchanged = noise_decibels(*tried_.front().noise);
    add_together(unchanged);
    run_new();

    SuggestResult result;
    result.sqnr_db = unchanged;
    result.min_gain_db = options_.min_gain_db;
    result.threads = resolve_threads(options_.threads);
    result.tried = std::count_if(tried_.begin() + 1, tried_.end(),
                                 [](const Trial& trial) { return trial.noise.has_value(); });
    result.suggestions = worth_it(unchanged);
    result.by_source = by_source(unchanged);
    result.bad = trials_.bad();
    if (result.suggestions.empty()) return result;
    std::vector<Change> changes;
    for (const Suggestion& suggestion : result.suggestions) changes.push_back(suggestion.change);
    const std::vector<MedianInterval> slower = trials_.slower(changes, result.int8_seconds);
    for (std::size_t i = 0; i < slower.size(); ++i) {
      result.suggestions[i].slower_seconds = slower[i];
    }
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
    if (options_.statistics == nullptr) return;
    for (const MethodInfo& method : methods()) {
      if (method.name != base_.table.method) add({.method = std::string(method.name)});
    }
  }

  // Biases that are taken from a model compensate for the errors of its own weights. They do not
  // suit the weights of another method.
  void add_weight_methods() {
    if (base_.options.bias_correction == BiasCorrection::kSequential) return;
    const Target target = chosen_target(base_.table, base_.options);
    for (const WeightMethodInfo& method : weight_methods()) {
      if (method.name != target.weight_method) add({.weight_method = std::string(method.name)});
    }
  }

  void add_rewrites() {
    const std::vector<std::string>& own =
        base_.options.rewrites ? *base_.options.rewrites : base_.table.rewrites.names;
    if (own.empty()) add({.rewrites = std::vector<std::string>{"equalize"}});
  }

  // A correction takes long. So it is tried only twice: alone, and with the best changes that cost
  // no time.
  void add_with_correction(Change change) {
    if (!options_.correction || base_.options.bias_correction == BiasCorrection::kSequential) {
      return;
    }
    change.corrected_on = options_.correction->words;
    add(std::move(change));
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
    for (const Change& change : gains) {
      for (const Overrides::GivenRange& given : change.ranges) {
        const bool has = std::any_of(free.ranges.begin(), free.ranges.end(),
                                     [&](const auto& one) { return one.tensor == given.tensor; });
        if (!has) free.ranges.push_back(given);  // the best one, because gains are sorted
      }
      if (!free.rewrites) free.rewrites = change.rewrites;
      if (free.weight_method.empty()) free.weight_method = change.weight_method;
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
        free.exclude = exclusions_.names_of(nodes);
        add(free);
      }
    }
  }

  /// Whether `whole` contains all of `part`.
  static bool holds(const Change& whole, const Change& part) {
    const auto within = [](const auto& some, const auto& all) {
      return std::all_of(some.begin(), some.end(), [&](const auto& one) {
        return std::find(all.begin(), all.end(), one) != all.end();
      });
    };
    return (part.method.empty() || whole.method == part.method) &&
           (part.weight_method.empty() || whole.weight_method == part.weight_method) &&
           (!part.rewrites || whole.rewrites == part.rewrites) &&
           (part.corrected_on.empty() || whole.corrected_on == part.corrected_on) &&
           within(part.exclude, whole.exclude) && within(part.wide, whole.wide) &&
           within(part.ranges, whole.ranges);
  }

  /// The size of a change: the number of nodes in FP32 and tensors in 16 bits, which cost time; and
  /// the number of other options.
  static std::pair<std::size_t, std::size_t> size_of(const Change& change) {
    return {change.exclude.size() + change.wide.size(),
            change.ranges.size() + (change.method.empty() ? 0U : 1U) +
                (change.weight_method.empty() ? 0U : 1U) + (change.rewrites ? 1U : 0U) +
                (change.corrected_on.empty() ? 0U : 1U)};
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
        found.push_back(std::move(trial));
      }
    }
    return found;
  }

  [[nodiscard]] std::vector<Suggestion> worth_it(double unchanged) const {
    std::vector<Suggestion> all;
    for (const Trial& trial : tried_) {
      if (!trial.noise || trial.change == Change()) continue;
      Suggestion suggestion;
      suggestion.change = trial.change;
      suggestion.noise = *trial.noise;
      suggestion.sqnr_db = noise_decibels(*trial.noise);
      suggestion.gain_db = suggestion.sqnr_db - unchanged;
      if (suggestion.gain_db >= options_.min_gain_db) all.push_back(std::move(suggestion));
    }
    std::stable_sort(all.begin(), all.end(), [](const Suggestion& a, const Suggestion& b) {
      const auto size_a = size_of(a.change);
      const auto size_b = size_of(b.change);
      return size_a != size_b ? size_a < size_b : a.gain_db > b.gain_db;
    });
    double best_free = 0.0;
    for (const Suggestion& suggestion : all) {
      if (size_of(suggestion.change).first == 0)
        best_free = std::max(best_free, suggestion.gain_db);
    }
    std::vector<Suggestion> kept;
    for (Suggestion& suggestion : all) {
      const bool is_best = size_of(suggestion.change).first == 0 && suggestion.gain_db == best_free;
      const double least = kept.empty() ? 0.0 : kept.back().gain_db;
      const bool is_worth = kept.empty() || suggestion.gain_db >= least + options_.min_gain_db;
      if (is_worth || (is_best && suggestion.gain_db > least))
        kept.push_back(std::move(suggestion));
    }
    std::stable_sort(kept.begin(), kept.end(), [](const Suggestion& a, const Suggestion& b) {
      return a.gain_db > b.gain_db;
    });
    if (std::ssize(kept) > options_.most) {
      kept.resize(static_cast<std::size_t>(std::max<std::int64_t>(options_.most, 0)));
    }
    return kept;
  }

  const StaticInputs& base_;
  const AnalyzeResult& analysis_;
  const SuggestOptions& options_;
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
