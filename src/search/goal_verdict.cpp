#include "search/goal_verdict.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "analyze/agreement.h"
#include "compare/intervals.h"
#include "compare/metrics.h"
#include "qtool/compare/evaluate.h"

namespace qtool {
namespace {

/// A figure of which more is better, its interval, and its goal.
struct Bounded {
  double value = 0.0;
  std::optional<Interval> interval{};
  double limit = 0.0;
};

double share(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

/// Adds `figure`, of which less is better, with its sign changed.
void add_at_most(double figure, const std::optional<Interval>& interval, double limit,
                 std::vector<Bounded>& all) {
  Bounded one{-figure, std::nullopt, -limit};
  if (interval) one.interval = {-interval->high, -interval->low};
  all.push_back(one);
}

/// The figures that a goal limits.
std::vector<Bounded> bounded_figures(const SearchGoal& goal, const SearchFigures& best) {
  const double least = goal.value / 100.0;
  std::vector<Bounded> all;
  if (goal.kind == SearchGoal::Kind::kSqnr) {
    all.push_back({best.sqnr_db, best.sqnr_interval_db, goal.value});
  } else if (goal.kind == SearchGoal::Kind::kTop1Drop) {
    all.push_back(
        {share(best.top1 - best.fp32_top1, best.labelled), best.top1_change_interval, -least});
  } else if (best.boxes) {
    const BoxMatch& boxes = *best.boxes;
    const bool both = goal.kind == SearchGoal::Kind::kAgreement;
    all.push_back({share(boxes.kept, boxes.fp32), boxes.kept_interval, least});
    const double most = both ? 1.0 - least : goal.most_added / 100.0;
    add_at_most(share(boxes.added(), boxes.fp32), boxes.added_interval, most, all);
  } else {
    all.push_back({best.agreement.value_or(0.0), best.agreement_interval, least});
  }
  return all;
}

/// The SQNR of the worst output for each sample that both models answered.
std::map<std::filesystem::path, double> worst_decibels(const EvalResult& result) {
  std::map<std::filesystem::path, double> worst;
  for (const SampleResult& sample : result.samples) {
    if (sample.sqnr_db.empty()) continue;
    worst[sample.path] = *std::ranges::min_element(sample.sqnr_db);
  }
  return worst;
}

void compare_decibels(const EvalResult& int8, const EvalResult& best, SearchedPart& part) {
  const std::map<std::filesystem::path, double> before = worst_decibels(int8);
  std::vector<double> gains;
  for (const auto& [path, decibels] : worst_decibels(best)) {
    const auto found = before.find(path);
    if (found != before.end()) gains.push_back(decibels - found->second);
  }
  if (gains.empty()) return;
  part.gain_db = mean_of(gains);
  // Samples with states are not independent, so evaluate() gives no intervals for them.
  if (!part.best.sqnr_interval_db) return;
  part.gain_interval_db = mean_interval(gains);
}

SearchFigures figures_of(const EvalResult& result) {
  SearchFigures figures;
  figures.images = result.images;
  if (const OutputError* worst = result.worst_pooled_output()) {
    figures.sqnr_db = worst->pooled_sqnr_db;
    figures.sqnr_interval_db = worst->pooled_interval;
  }
  figures.boxes = result.answers.judged_boxes();
  figures.agreement = agreement_of(result.answers);
  if (!figures.agreement && !result.answers.boxes && result.classes > 0) {
    figures.agreement = share(result.agreement, result.images);
    figures.agreement_interval = result.agreement_interval();
  } else if (!result.answers.boxes && result.answers.mask) {
    figures.agreement_interval = result.answers.mask->equal_interval;
  }
  figures.labelled = result.labelled;
  figures.fp32_top1 = result.fp32.top1;
  figures.top1 = result.int8 ? result.int8->top1 : 0;
  figures.top1_change_interval = result.top1_change_interval;
  return figures;
}

}  // namespace

void judge(const std::vector<SearchGoal>& goals, SearchedPart& part) {
  part.verdict = GoalVerdict::kReached;
  part.deciding_images = 0;
  part.lacks_interval = false;
  double deciding = 0.0;
  for (const SearchGoal& goal : goals) {
    for (const Bounded& figure : bounded_figures(goal, part.best)) {
      if (figure.interval && figure.interval->high < figure.limit) {
        part.verdict = GoalVerdict::kMissed;
        part.lacks_interval = false;
        return;
      }
      if (figure.interval && figure.interval->low >= figure.limit) continue;
      part.verdict = GoalVerdict::kUndecided;
      const bool too_few = part.best.images < kLeastBootstrapSamples;  // to have an interval
      part.lacks_interval = part.lacks_interval || (!figure.interval && !too_few);
      if (figure.interval) {
        deciding = std::max(deciding, deciding_samples(figure.value, *figure.interval, figure.limit,
                                                       part.best.images));
      }
    }
  }
  const bool few = !part.lacks_interval && deciding < static_cast<double>(kMostSamplesToAsk);
  if (part.verdict == GoalVerdict::kUndecided && few) {
    part.deciding_images = static_cast<std::int64_t>(deciding);
  }
}

SearchedPart judged_part(const Executor& fp32, const Executor& int8, const Executor* best,
                         const Samples& samples, const SearchOptions& options,
                         const Progress& progress, std::vector<BadImage>& bad) {
  EvalOptions eval;
  eval.preprocess = options.preprocess;
  eval.bad_images = options.bad_images;
  const bool labels = std::ranges::any_of(options.goals, [](const SearchGoal& goal) {
    return goal.kind == SearchGoal::Kind::kTop1Drop;
  });
  if (!labels) eval.labels = LabelSource::kUnused;
  eval.threads = options.threads;
  eval.answers = options.answers;
  eval.progress = progress;
  const EvalResult before = evaluate(fp32, &int8, samples, eval);
  const EvalResult after = best == nullptr ? before : evaluate(fp32, best, samples, eval);
  bad.insert(bad.end(), after.bad.begin(), after.bad.end());
  SearchedPart part;
  part.int8 = figures_of(before);
  part.best = figures_of(after);
  compare_decibels(before, after, part);
  judge(options.goals, part);
  return part;
}

}  // namespace qtool
