#include "analyze/suggest_choice.h"

#include <algorithm>
#include <utility>

#include "compare/output_noise.h"

namespace qtool {
namespace {

// Whether a change costs no time. Another target runs other operators.
bool is_free(const Change& change) { return size_of(change).first == 0 && change.target.empty(); }

// The largest gains that were suggested so far, without and with a change of the target.
struct SuggestedGains {
  double same_target = 0.0;
  double other_target = 0.0;

  // The gain that a larger change must exceed. A change for the same target is not measured by one
  // for another target.
  [[nodiscard]] double before(const Change& change) const {
    return change.target.empty() ? same_target : std::max(same_target, other_target);
  }
  void add(const Suggestion& suggestion) {
    double& most = suggestion.change.target.empty() ? same_target : other_target;
    most = std::max(most, suggestion.gain_db);
  }
};

// Whether `a` leaves no node in FP32, `b` does, and the interval of the gain of `a` reaches the
// gain of `b`, which may be larger than that of `a`.
bool is_as_good_on_integers(const Suggestion& a, const Suggestion& b) {
  return a.change.exclude.empty() && !b.change.exclude.empty() && a.gain_interval_db &&
         a.gain_interval_db->high >= b.gain_db;
}

}  // namespace

bool holds(const Change& whole, const Change& part) {
  const auto within = [](const auto& some, const auto& all) {
    return std::all_of(some.begin(), some.end(), [&](const auto& one) {
      return std::find(all.begin(), all.end(), one) != all.end();
    });
  };
  return (part.method.empty() || whole.method == part.method) &&
         (part.weight_method.empty() || whole.weight_method == part.weight_method) &&
         (!part.rewrites || whole.rewrites == part.rewrites) &&
         (part.effort.empty() || whole.effort == part.effort) &&
         (part.target.empty() || whole.target == part.target) &&
         (!part.corrects_biases || whole.corrects_biases) &&
         (part.learned_on.empty() || whole.learned_on == part.learned_on) &&
         within(part.exclude, whole.exclude) && within(part.wide, whole.wide) &&
         within(part.ranges, whole.ranges);
}

std::pair<std::size_t, std::size_t> size_of(const Change& change) {
  return {change.exclude.size() + change.wide.size(),
          change.ranges.size() + (change.method.empty() ? 0U : 1U) +
              (change.weight_method.empty() ? 0U : 1U) + (change.rewrites ? 1U : 0U) +
              (change.effort.empty() ? 0U : 1U) + (change.target.empty() ? 0U : 1U) +
              (change.corrects_biases ? 1U : 0U)};
}

void put_in_order(std::vector<Suggestion>& suggestions) {
  std::stable_sort(suggestions.begin(), suggestions.end(),
                   [](const Suggestion& a, const Suggestion& b) { return a.gain_db > b.gain_db; });
  for (auto one = suggestions.begin(); one != suggestions.end(); ++one) {
    auto place = one;
    while (place != suggestions.begin() && is_as_good_on_integers(*one, *(place - 1))) --place;
    std::rotate(place, one, one + 1);
  }
}

std::vector<Suggestion> chosen(std::span<const Trial> tried, const SuggestOptions& options) {
  const Trial& base = tried.front();
  const double unchanged = noise_decibels(base.noise.value());
  std::vector<Suggestion> all;
  for (const Trial& trial : tried) {
    if (!trial.noise || trial.change == Change()) continue;
    Suggestion suggestion;
    suggestion.change = trial.change;
    suggestion.noise = *trial.noise;
    suggestion.sqnr_db = noise_decibels(*trial.noise);
    suggestion.gain_db = suggestion.sqnr_db - unchanged;
    if (suggestion.gain_db < options.min_gain_db) continue;
    suggestion.gain_interval_db = gain_interval(trial, base);
    suggestion.worst_interval_db = worst_output_interval(trial);
    suggestion.answers = kept_answers(trial.score);
    suggestion.integer_share = trial.score.integer_share;
    suggestion.making_seconds = trial.making_seconds;
    all.push_back(std::move(suggestion));
  }
  std::stable_sort(all.begin(), all.end(), [](const Suggestion& a, const Suggestion& b) {
    const auto size_a = size_of(a.change);
    const auto size_b = size_of(b.change);
    return size_a != size_b ? size_a < size_b : a.gain_db > b.gain_db;
  });
  double best_free = 0.0;
  for (const Suggestion& suggestion : all) {
    if (is_free(suggestion.change)) best_free = std::max(best_free, suggestion.gain_db);
  }
  SuggestedGains kept_gains;
  std::vector<Suggestion> kept;
  for (Suggestion& suggestion : all) {
    const Change& change = suggestion.change;
    const double least = kept_gains.before(change);
    const bool is_best = is_free(change) && suggestion.gain_db == best_free;
    if (suggestion.gain_db < least + options.min_gain_db &&
        !(is_best && suggestion.gain_db > least)) {
      continue;
    }
    kept_gains.add(suggestion);
    kept.push_back(std::move(suggestion));
  }
  put_in_order(kept);
  if (std::ssize(kept) > options.most) {
    kept.resize(static_cast<std::size_t>(std::max<std::int64_t>(options.most, 0)));
  }
  return kept;
}

}  // namespace qtool
