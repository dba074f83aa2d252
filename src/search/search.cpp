#include "qtool/search/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "analyze/exclusions.h"
#include "analyze/suggest_trials.h"
#include "base/parallel.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "compare/output_noise.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "search/final_measurements.h"
#include "search/goal_checks.h"
#include "search/goal_evidence.h"
#include "search/greedy_path.h"
#include "search/held_out_images.h"
#include "search/loudest_sources.h"
#include "search/search_budget.h"
#include "search/search_candidates.h"
#include "search/search_memory.h"
#include "search/tried_models.h"

namespace qtool {
namespace {

/// The cost of measuring a source, in FP32 runs: only the steps after the source run again.
constexpr double kReplayShare = 0.5;
/// The number of models along the path that are run in one round.
constexpr std::size_t kAlong = 6;
/// The number of rounds without a better model after which the search gives up.
constexpr std::size_t kPatience = 6;
constexpr std::size_t kMaxTimed = 12;
/// Tensors in 16 bits: first few, then more if nothing else reaches the goal. They must gain
/// kLeastWideDb. A larger set must gain more than kNextToNothingDb over a smaller one.
const WideCounts kFewWide{{1, 2, 4, 6, 9, 13, 19, 28}, 0.003};
const WideCounts kManyWide{{40, 57, 80, 113, 160}, 0.0005};
constexpr double kLeastWideDb = 1.0;
constexpr double kNextToNothingDb = 0.25;

class Search {
 public:
  /// `split`: no model is chosen by the images that it holds back.
  Search(const Executor& fp32, const StaticInputs& base, const SplitSamples& split,
         const SearchOptions& options)
      : fp32_(fp32),
        base_(base),
        split_(split),
        samples_(split.rest),
        options_(options),
        budget_(options.budget_seconds),
        memory_(options.partial),
        tried_(options) {
    trial_options_.preprocess = options.preprocess;
    trial_options_.answers = options.answers;
    trial_options_.bad_images = options.bad_images;
    trial_options_.threads = options.threads;
    trial_options_.repeat = options.repeat;
    trial_options_.progress = [this](std::int64_t, std::int64_t) {
      return must_end() ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
    };
    trial_options_.stop = [this] {
      if (options_.stop && options_.stop()) asked_to_stop_ = true;
      return asked_to_stop_ || budget_.is_over();
    };
    result_.goals = options.goals;
    result_.held_back = split.held ? split.held->size() : 0;
    result_.threads = resolve_threads(options.threads);
  }

  /// Returns the results so far when it is stopped.
  SearchResult run() {
    try {
      trials_.emplace(fp32_, base_, samples_, trial_options_);
      exclusions_.emplace(fp32_.graph(), base_);
      estimate();
      try_sets({NodeSet()});
      require_meaning(options_, tried_.first().trial);
      if (!is_reached()) {
        probe();
        try_sets(loudest_);
        follow_path();
        // Neighbours of a model that is far from the goal are not worth a run, so refine() is last.
        for (const WideCounts* counts : {&kFewWide, &kManyWide}) {
          const bool wider = (counts == &kFewWide || !is_reached()) && widen(*counts);
          if (wider && !is_reached()) follow_path();
        }
        refine();
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled) throw;
      result_.end = asked_to_stop_ ? SearchEnd::kInterrupted : SearchEnd::kBudget;
    }
    if (tried_.empty()) {
      throw result_.end == SearchEnd::kInterrupted
          ? Error(ErrorCode::kCancelled, "search stopped before any model was measured")
          : Error(ErrorCode::kUsage,
                  to_text("budget: found ", options_.budget_seconds,
                          " seconds, which are over before the INT8 model was run on all images"));
    }
    finish();
    return std::move(result_);
  }

 private:
  /// Reports the progress of the whole search. Returns whether the search must end.
  bool must_end() {
    const auto total = static_cast<std::int64_t>(std::ceil(options_.budget_seconds));
    const std::int64_t done = std::min(static_cast<std::int64_t>(budget_.elapsed()), total - 1);
    if (options_.progress &&
        options_.progress(std::max<std::int64_t>(done, 0), total) == ProgressAnswer::kStop) {
      asked_to_stop_ = true;
    }
    return trial_options_.stop();
  }

  /// Times one image, and estimates the cost of the parts of the search.
  void estimate() {
    const Trials::Seconds once = trials_->seconds_of_image();
    const std::int64_t sources = exclusions_->sources();
    SearchCost& cost = result_.cost;
    cost.images = samples_.size();
    cost.sources = sources;
    cost.probe_seconds = once.fp32 * (1.0 + kReplayShare * static_cast<double>(sources));
    cost.trial_seconds = once.int8 + once.fp32 / static_cast<double>(Trials::kTogether);
    const double at_once = result_.threads;
    const double affordable =
        budget_.end_of_probing() * at_once / std::max(cost.probe_seconds, 1e-9);
    const double most = static_cast<double>(
        std::min(std::max<std::int64_t>(options_.probed_images, 1), cost.images));
    cost.probed = static_cast<std::int64_t>(std::clamp(std::floor(affordable), 1.0, most));
    budget_.expect(once.make + cost.trial_seconds * static_cast<double>(cost.images) / at_once);
    measurements_.emplace(fp32_, base_, split_, *trials_, trial_options_, options_, once);
    budget_.set_last_part(measurements_->least_seconds());
    if (options_.announce) options_.announce(cost);
  }

  /// Measures each source alone, on a part of the images.
  AnalyzeResult measured_sources() {
    const Samples some = samples_.spread(result_.cost.probed);
    const StopCheck& stop = trial_options_.stop;
    const Executor int8(prepare(quantize(fp32_.graph(), base_).graph, stop), stop);
    AnalyzeOptions probe_options = trial_options_;
    probe_options.enough = [this] { return budget_.elapsed() >= budget_.end_of_probing(); };
    AnalyzeResult analysis = analyze(fp32_, int8, some, probe_options);
    memory_.keep(analysis);
    return analysis;
  }

  /// Sets up the candidates from the noise of the sources.
  void probe() {
    std::optional<AnalyzeResult> known = memory_.sources();
    AnalyzeResult analysis = known ? std::move(*known) : measured_sources();
    result_.cost.probed = analysis.images;
    PathLimits limits;
    limits.least_integer_share = options_.least_integer_share;
    limits.threads = result_.threads;
    limits.stop = trial_options_.stop;
    limits.enough_noise = enough_noise(options_.goals);
    loudest_ = loudest_sources(analysis, *exclusions_);
    candidates_.emplace(fp32_, trials_->shapes(), *exclusions_, std::move(analysis), limits);
    result_.islands = candidates_->islands();
    tried_.set_first_cost(candidates_->cost({}, {}));
  }

  [[nodiscard]] bool is_reached() const { return tried_.reaches_goal(tried_.best()); }

  /// The tensors in 16 bits of the models that are tried now.
  [[nodiscard]] std::vector<std::string> wide() const {
    return candidates_ ? candidates_->wide() : std::vector<std::string>();
  }

  [[nodiscard]] SearchCandidates::IsKnown known() const {
    return [this](const NodeSet& nodes) { return tried_.find(nodes, wide()) != nullptr; };
  }

  /// Chooses the tensors that keep 16 bits in all later models: the smallest set that reaches the
  /// goal, or to which more tensors add next to nothing. Where the goal is reached already, only
  /// sets that reach it at a lower cost are considered. False where there is no such set.
  bool widen(const WideCounts& counts) {
    const Target target = chosen_target(base_.table, base_.options);
    if (!target.wide_activations || target.activations.bits != 8) return false;
    const bool was_reached = is_reached();
    std::vector<Mixture> mixtures;
    for (std::vector<std::string>& tensors : candidates_->loudest(counts)) {
      if (was_reached && candidates_->cost({}, tensors) >= tried_.best().cost) break;
      mixtures.push_back({{}, std::move(tensors)});
    }
    try_mixtures(mixtures);
    const auto decibels = [&](const std::vector<std::string>& tensors) {
      const Tried& tried = *tried_.find({}, tensors);
      return tried.trial.noise ? noise_decibels(*tried.trial.noise) : -kSqnrLimitDb;
    };
    double least = decibels(wide()) + kLeastWideDb;
    for (const Mixture& mixture : mixtures) {
      least = std::max(least, decibels(mixture.wide) - kNextToNothingDb);
    }
    for (const Mixture& mixture : mixtures) {
      const bool reaches = tried_.reaches_goal(*tried_.find({}, mixture.wide));
      if (!reaches && (was_reached || decibels(mixture.wide) < least)) continue;
      set_wide(mixture.wide);
      return true;
    }
    return false;
  }

  void set_wide(const std::vector<std::string>& tensors) {
    candidates_->set_wide(tensors);
    result_.islands = candidates_->islands();
    spent_.clear();
  }

  /// Finds the cheapest model of the path that reaches the goal. First runs models spread over the
  /// path, then models between the last one that misses the goal and the first one that reaches it.
  void follow_path() {
    const std::vector<Mix> path = candidates_->path_from({}, PathLimits().most_steps);
    std::size_t fails = 0;
    std::size_t reaches = path.size();
    while (reaches - fails > 1) {
      const std::size_t last = reaches == path.size() ? reaches - 1 : reaches;
      const std::vector<std::size_t> steps = steps_between(fails, last, reaches, kAlong);
      if (steps.empty()) break;
      std::vector<NodeSet> sets;
      for (const std::size_t step : steps) sets.push_back(path[step].excluded);
      try_sets(sets);
      const std::size_t known_end = reaches;
      for (const std::size_t step : steps) {
        const Tried* tried = tried_.find(path[step].excluded, wide());
        if (tried != nullptr && tried_.allowed(*tried) && tried_.reaches_goal(*tried)) {
          reaches = step;
          break;
        }
        fails = step;
      }
      if (reaches == known_end && reaches == path.size()) break;  // the last step misses the goal
    }
  }

  /// Runs rounds of models around the best one. Once the goal is reached, ends after a round
  /// without a better model. Before that, ends after kPatience such rounds in a row; when nothing
  /// is left to try around the best model, the next best models follow.
  void refine() {
    for (std::size_t in_vain = 0; in_vain < kPatience;) {
      const NodeSet best = tried_.best().nodes;
      if (is_reached()) {
        const std::size_t before = tried_.best_index();
        const std::vector<std::string> tensors = tried_.at(before).wide;
        if (tensors != wide()) set_wide(tensors);
        std::vector<Mixture> mixtures;
        for (const NodeSet& nodes : candidates_->smaller_than(best, known())) {
          mixtures.push_back({nodes, tensors});
        }
        for (std::vector<std::string>& fewer : fewer_of(tensors)) {
          mixtures.push_back({best, std::move(fewer)});
        }
        try_mixtures(mixtures);
        if (tried_.best_index() == before) return;
        continue;
      }
      std::vector<NodeSet> sets;
      for (const std::size_t i : tried_.ranked()) {
        if (!spent_.contains(i)) sets = candidates_->larger_than(tried_.at(i).nodes, known());
        if (!sets.empty()) break;
        spent_.insert(i);
      }
      if (sets.empty()) return;
      try_sets(sets);
      in_vain = tried_.best().nodes == best ? in_vain + 1 : 0;
    }
  }

  /// Nodes in FP32 and tensors in 16 bits.
  struct Mixture {
    NodeSet nodes;
    std::vector<std::string> wide;
  };

  void try_sets(const std::vector<NodeSet>& sets) {
    std::vector<Mixture> mixtures;
    for (const NodeSet& nodes : sets) mixtures.push_back({nodes, wide()});
    try_mixtures(mixtures);
  }

  /// Makes and runs the models that are not known yet, Trials::kTogether at a time or fewer where
  /// the budget ends. The results of models that were run before a stop are kept.
  void try_mixtures(const std::vector<Mixture>& mixtures) {
    for (std::size_t begin = 0, end = 0; begin < mixtures.size(); begin = end) {
      const std::size_t wanted = std::min(mixtures.size() - begin, Trials::kTogether);
      const std::size_t together = tried_.empty() ? wanted : budget_.affordable(wanted);
      end = begin + std::max<std::size_t>(together, 1);
      std::vector<Trial> trials;
      std::vector<Mixture> made;
      for (std::size_t i = begin; i < end; ++i) {
        const auto& [nodes, wide] = mixtures[i];
        if (tried_.find(nodes, wide) != nullptr) continue;
        made.push_back(mixtures[i]);
        trials.push_back({Change{.exclude = exclusions_->names_of(nodes), .wide = wide}});
      }
      run(trials, together == 0);
      for (std::size_t i = 0; i < trials.size(); ++i) {
        if (trials[i].noise) ++result_.tried;
        const double cost = candidates_ ? candidates_->cost(made[i].nodes, made[i].wide) : 0.0;
        tried_.add({std::move(made[i].nodes), std::move(made[i].wide), cost, std::move(trials[i])});
      }
      tell_best();
    }
  }

  /// `only_kept`: there is no time left to run a model, so only kept results are used.
  void run(std::vector<Trial>& trials, bool only_kept) {
    const double before = budget_.elapsed();
    const std::size_t fresh = memory_.run(*trials_, trials, samples_.size(), only_kept);
    const double seconds = budget_.elapsed() - before;
    budget_.took(seconds, fresh);
    if (!tried_.empty() || fresh == 0) return;
    measurements_->first_took(seconds);
    budget_.set_last_part(measurements_->least_seconds());
  }

  /// Reports a model that is better than all before.
  void tell_best() {
    const std::size_t best = tried_.best_index();
    if (std::exchange(told_, best) == best || !options_.improved) return;
    options_.improved(tried_.point(best), budget_.elapsed());
  }

  void finish() {
    budget_.begin_last_part();
    std::vector<std::size_t> shown = tried_.frontier(kMaxTimed);
    const std::vector<std::size_t> loudest = tried_.made_of(loudest_);
    const std::size_t most_decibels = tried_.most_decibels_index();
    const bool wanted = result_.end != SearchEnd::kInterrupted;
    bool measured = false;
    for (std::size_t count = kMaxTimed; wanted && !measured && count > 0; count /= 2) {
      const std::vector<std::size_t> some = tried_.frontier(count);
      const std::vector<std::size_t> timed =
          with_more(with_more(some, {most_decibels}, 1), loudest, count / 2);
      measured = !asked_to_stop_ &&
                 measurements_->measure_times(timed, budget_, tried_, result_.int8_seconds);
      if (measured) shown = some;
    }
    if (wanted && !measured && result_.end == SearchEnd::kComplete) {
      result_.end = SearchEnd::kBudget;
    }
    // Without times no model is rejected, but none is said to keep the limit on time.
    if (options_.max_latency_cost && (measured || shown.empty())) tried_.keep_timed();
    result_.bad = memory_.bad(*trials_);
    const std::size_t chosen = tried_.chosen_index();
    if (!asked_to_stop_) measurements_->judge(tried_, chosen, result_);
    if (asked_to_stop_) result_.end = SearchEnd::kInterrupted;
    FinalMeasurements::show(tried_, chosen, shown, loudest, result_);
    const bool keeps_limit = !options_.max_latency_cost || measured || chosen == 0;
    result_.reached = result_.best.reaches_goal && tried_.allowed(tried_.at(chosen)) && keeps_limit;
    result_.passed_over = samples_.passed_over();
    result_.seconds = budget_.elapsed();
  }

  const Executor& fp32_;
  const StaticInputs& base_;
  const SplitSamples& split_;
  const Samples& samples_;  ///< those that are searched on
  const SearchOptions& options_;
  SearchBudget budget_;
  SearchMemory memory_;
  SuggestOptions trial_options_;
  std::atomic<bool> asked_to_stop_ = false;  ///< by the caller
  std::optional<Trials> trials_;
  std::optional<Exclusions> exclusions_;
  std::optional<FinalMeasurements> measurements_;
  std::optional<SearchCandidates> candidates_;
  std::size_t told_ = 0;          ///< index of the model that was reported last
  std::vector<NodeSet> loudest_;  ///< see loudest_sources()
  std::set<std::size_t> spent_;   ///< tried models for which larger_than() has no more sets
  TriedModels tried_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const Executor& fp32, const StaticInputs& base, const Samples& samples,
                    const SearchOptions& options) {
  check(options.preprocess);
  check_options(options);
  const SplitSamples split = hold_back(samples);
  return Search(fp32, base, split, options).run();
}

}  // namespace qtool
