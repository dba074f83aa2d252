#include "search/final_measurements.h"

#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "qtool/base/error.h"
#include "search/goal_verdict.h"

namespace qtool {
namespace {

constexpr std::int64_t kMinRuns = 5;
constexpr std::int64_t kUntimedRuns = 3;  // of race_plans()
/// Timed runs are planned for this share of the time that is left.
constexpr double kTimedShare = 0.9;

}  // namespace

std::vector<std::size_t> with_more(std::vector<std::size_t> models,
                                   const std::vector<std::size_t>& more, std::size_t most) {
  const std::size_t limit = models.size() + most;
  for (const std::size_t i : more) {
    const bool is_new = i != 0 && std::ranges::find(models, i) == models.end();
    if (is_new && models.size() < limit) models.push_back(i);
  }
  return models;
}

FinalMeasurements::FinalMeasurements(const Executor& fp32, const StaticInputs& base,
                                     const SplitSamples& split, const Trials& trials,
                                     SuggestOptions& trial_options, const SearchOptions& options,
                                     Trials::Seconds once)
    : fp32_(fp32),
      base_(base),
      split_(split),
      trials_(trials),
      trial_options_(trial_options),
      options_(options),
      once_(once) {}

double FinalMeasurements::judge_seconds() const {
  const auto searched = static_cast<double>(split_.rest.size());
  const double images = searched + static_cast<double>(split_.held ? split_.held->size() : 0);
  const double runs = 2.0 * images * (once_.read + once_.fp32 + once_.int8);
  const double from_one_image = 2.0 * once_.make + runs / resolve_threads(options_.threads);
  return std::max(from_one_image, 2.0 * first_seconds_ * images / std::max(searched, 1.0));
}

/// The models, and the base model.
double FinalMeasurements::make_seconds(std::size_t models) const {
  return static_cast<double>(models + 1) * once_.make;
}

double FinalMeasurements::round_seconds(std::size_t models) const {
  return static_cast<double>(models + 1) * std::max(once_.fp32, once_.int8);
}

double FinalMeasurements::least_seconds() const {
  return judge_seconds() + make_seconds(1) +
         static_cast<double>(kMinRuns + kUntimedRuns) * round_seconds(1);
}

bool FinalMeasurements::measure_times(const std::vector<std::size_t>& models,
                                      const SearchBudget& budget, TriedModels& tried,
                                      double& int8_seconds) const {
  const double left =
      budget.seconds() - budget.elapsed() - judge_seconds() - make_seconds(models.size());
  const double rounds = kTimedShare * left / std::max(round_seconds(models.size()), 1e-9);
  const std::int64_t runs =
      std::min(static_cast<std::int64_t>(rounds) - kUntimedRuns, options_.repeat);
  if (runs < std::min(kMinRuns, options_.repeat)) return false;
  trial_options_.repeat = runs;
  std::vector<Change> changes;
  for (const std::size_t i : models) changes.push_back(tried.at(i).trial.change);
  try {
    const std::vector<MedianInterval> slower = trials_.slower(changes, int8_seconds);
    for (std::size_t i = 0; i < models.size(); ++i) {
      tried.set_slower(models[i], slower[i], int8_seconds);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    return false;
  }
  return true;
}

void FinalMeasurements::show(const TriedModels& tried, std::size_t chosen,
                             const std::vector<std::size_t>& frontier,
                             const std::vector<std::size_t>& loudest, SearchResult& result) {
  result.int8 = tried.point(0);
  result.best = tried.point(chosen);
  const std::size_t most = tried.most_decibels_index();
  if (most != chosen) result.most_decibels = tried.point(most);
  result.frontier.push_back(result.int8);
  for (const std::size_t i : frontier) result.frontier.push_back(tried.point(i));
  for (const std::size_t i : loudest) result.loudest.push_back(tried.point(i));
  result.surest = tried.surest();
}

void FinalMeasurements::judge(const TriedModels& tried, std::size_t chosen,
                              SearchResult& result) const {
  const Learned& learned = base_.learned;
  result.learned =
      !learned.rounded.empty() || !learned.tuned_ranges.empty() || !learned.bias_shifts.empty();
  try {
    const std::unique_ptr<Executor> int8 = trials_.model({});
    const std::unique_ptr<Executor> best =
        chosen == 0 ? nullptr : trials_.model(tried.at(chosen).trial.change);
    const auto judged = [&](const Samples& samples, std::vector<BadImage>& bad) {
      return judged_part(fp32_, *int8, best.get(), samples, options_, trial_options_.progress, bad);
    };
    if (split_.held) result.held_out = judged(*split_.held, result.bad);
    std::vector<BadImage> known;  // the models that were tried left them out, too
    result.searched = judged(split_.rest, known);
    // Reads all images once more, so it comes last.
    const SplitContents contents =
        contents_of(split_, base_.table.image_ids, options_.threads, trial_options_.stop);
    result.contents_compared = true;
    result.held_copies = contents.held_copies;
    result.held_calibrated = contents.held_calibrated;
    result.overlap = contents.overlap;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    if (result.end == SearchEnd::kComplete) result.end = SearchEnd::kBudget;
  }
}

}  // namespace qtool
