#include "qtool/measure/suggest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "measure/exclusions.h"
#include "measure/output_noise.h"
#include "measure/suggest_trials.h"
#include "qtool/base/error.h"
#include "qtool/quantize/weight_method.h"

namespace qtool {
namespace {

/// A range that the images have differs from the one in use where an end moves by more than this
/// share of the width.
constexpr double kOtherRange = 0.1;
/// The best exclusions that are tried together with what costs no time.
constexpr std::size_t kBestNodes = 3;

class Search {
 public:
  Search(const Executor& fp32, const Recipe& recipe, const AnalyzeResult& analysis,
         const Samples& samples, const SuggestOptions& options)
      : recipe_(recipe),
        analysis_(analysis),
        options_(options),
        exclusions_(fp32.graph(), recipe),
        trials_(fp32, recipe, samples, options) {}

  SuggestResult run() {
    add({});  // the model as it is
    add_exclusions();
    add_ranges();
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
    result.sqnr_db = unchanged;
    result.least_gain_db = options_.least_gain_db;
    result.threads = resolve_threads(options_.threads);
    result.tried = std::count_if(tried_.begin() + 1, tried_.end(),
                                 [](const Trial& trial) { return trial.noise.has_value(); });
    result.suggestions = worth_it(unchanged);
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

  [[nodiscard]] Change excluding(const NodeSet& nodes) const {
    return {.exclude = exclusions_.names_of(nodes)};
  }

  /// Each of the first of `sets` alone, and the first few of them together.
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
      if (nodes.empty() || std::find(sets.begin(), sets.end(), nodes) != sets.end()) continue;
      sets.push_back(std::move(nodes));
    }
    add_unions(sets);
  }

  void add_ranges() {
    std::int64_t looked_at = 0;
    for (const ErrorSource& source : analysis_.sources) {
      if (source.kind != SourceKind::kActivation) continue;
      if (looked_at++ >= options_.sources || !(source.noise > 0.0)) break;
      const Range& used = source.range;
      const Range& seen = source.seen;
      const double width = static_cast<double>(used.max) - used.min;
      const double other = std::max(std::abs(static_cast<double>(seen.min) - used.min),
                                    std::abs(static_cast<double>(seen.max) - used.max));
      if (!std::isfinite(other) || other <= kOtherRange * width || seen == Range()) continue;
      if (source.scaled) continue;  // the table has the range of the tensor that is not divided
      if (recipe_.table.find(source.name) == nullptr) continue;
      add({.ranges = {{source.name, seen}}});
    }
  }

  void add_methods() {
    if (options_.statistics == nullptr) return;
    for (const MethodInfo& method : methods()) {
      if (method.name != recipe_.table.method) add({.method = std::string(method.name)});
    }
  }

  // Biases that are taken from a model make up for the errors of the weights that it has.
  void add_weight_methods() {
    if (recipe_.options.bias_correction == BiasCorrection::kSequential) return;
    const Target target = chosen_target(recipe_.table, recipe_.options);
    for (const WeightMethodInfo& method : weight_methods()) {
      if (method.name != target.weight_method) add({.weight_method = std::string(method.name)});
    }
  }

  void add_rewrites() {
    const std::vector<std::string>& own =
        recipe_.options.rewrites ? *recipe_.options.rewrites : recipe_.table.rewrites.names;
    if (own.empty()) add({.rewrites = std::vector<std::string>{"equalize"}});
  }

  /// What brought anything alone, together: nodes by their measured gain, and all that costs no
  /// time, with and without the best of them.
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
      free.ranges.insert(free.ranges.end(), change.ranges.begin(), change.ranges.end());
      if (!free.rewrites) free.rewrites = change.rewrites;
      if (free.weight_method.empty()) free.weight_method = change.weight_method;
      if (change.exclude.empty()) continue;
      const bool has_part = std::any_of(gains.begin(), gains.end(), [&](const Change& other) {
        return !other.exclude.empty() && other.exclude.size() < change.exclude.size() &&
               holds(change, other);
      });
      if (!has_part && std::ssize(sets) < options_.sources)
        sets.push_back(exclusions_.nodes_of(change.exclude));
    }
    add_unions(sets);
    if (free == Change()) return;
    add(free);
    NodeSet all;
    for (std::size_t i = 0; i < sets.size() && i < kBestNodes; ++i) {
      all = joined(all, sets[i]);
      for (const auto& nodes : {sets[i], all}) {
        free.exclude = exclusions_.names_of(nodes);
        add(free);
      }
    }
  }

  /// Whether everything of `part` is in `whole`.
  static bool holds(const Change& whole, const Change& part) {
    const auto within = [](const auto& some, const auto& all) {
      return std::all_of(some.begin(), some.end(), [&](const auto& one) {
        return std::find(all.begin(), all.end(), one) != all.end();
      });
    };
    return (part.method.empty() || whole.method == part.method) &&
           (part.weight_method.empty() || whole.weight_method == part.weight_method) &&
           (!part.rewrites || whole.rewrites == part.rewrites) &&
           within(part.exclude, whole.exclude) && within(part.ranges, whole.ranges);
  }

  /// What a change asks for: nodes in FP32, which cost time, then other options.
  static std::pair<std::size_t, std::size_t> size_of(const Change& change) {
    return {change.exclude.size(), change.ranges.size() + (change.method.empty() ? 0U : 1U) +
                                       (change.weight_method.empty() ? 0U : 1U) +
                                       (change.rewrites ? 1U : 0U)};
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
      if (suggestion.gain_db >= options_.least_gain_db) all.push_back(std::move(suggestion));
    }
    std::stable_sort(all.begin(), all.end(), [](const Suggestion& a, const Suggestion& b) {
      const auto size_a = size_of(a.change);
      const auto size_b = size_of(b.change);
      return size_a != size_b ? size_a < size_b : a.gain_db > b.gain_db;
    });
    std::vector<Suggestion> kept;
    for (Suggestion& suggestion : all) {
      if (!kept.empty() && suggestion.gain_db < kept.back().gain_db + options_.least_gain_db) {
        continue;
      }
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

  const Recipe& recipe_;
  const AnalyzeResult& analysis_;
  const SuggestOptions& options_;
  Exclusions exclusions_;
  Trials trials_;
  std::vector<Trial> tried_;
  std::size_t run_ = 0;
};

}  // namespace

SuggestResult suggest(const Executor& fp32, const Recipe& recipe, const AnalyzeResult& analysis,
                      const Samples& samples, const SuggestOptions& options) {
  return Search(fp32, recipe, analysis, samples, options).run();
}

}  // namespace qtool
