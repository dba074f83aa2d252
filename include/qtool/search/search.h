#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/answers/answer.h"
#include "qtool/base/progress.h"
#include "qtool/compare/profile.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

class PartialResults;  // base/partial_results.h

/// What a model must reach on the images, beside FP32.
struct SearchGoal {
  enum class Kind : std::uint8_t {
    kSqnr,  ///< `value` dB or more: the mean over the images, of the worst output
    /// `value` percent or more of the answers are FP32's: of the images, those with its top-1
    /// class; with a mask, of the pixels those with its class; with boxes, of FP32's boxes those
    /// kept, and 100 minus those added (from the lowest score of the detector on, at IoU 0.7).
    kAgreement,
    kTop1Drop,  ///< top-1 accuracy falls by `value` points or less; needs labels
    /// Of FP32's boxes `value` percent or more are kept, and `most_added` percent of their number
    /// are added at most.
    kBoxes,
  };
  Kind kind = Kind::kSqnr;
  double value = 0.0;
  double most_added = 1e9;  ///< kBoxes: no limit by default
  /// How sure it must be that images which the search did not see reach the goal too, 0.5 to below
  /// 1; of kAgreement and kBoxes. Two things answer for it: the count of a model is replaced by
  /// what a curve through the counts of all models, which never falls with their noise, has at its
  /// noise; and the end of Wilson's interval around that must reach the goal. Where the images are
  /// too few for any model to do so, no mistake on them is allowed. 0.5: the count itself decides.
  double confidence = 0.9;
};

/// What the parts of a search cost, known before it begins.
struct SearchCost {
  std::int64_t images = 0;     ///< that each model is run on
  std::int64_t sources = 0;    ///< that are measured one by one
  std::int64_t probed = 0;     ///< images that this is done on
  double probe_seconds = 0.0;  ///< of one of these images on one thread
  double trial_seconds = 0.0;  ///< of one image and model on one thread
};

/// A model that was made and run on the images.
struct SearchPoint {
  std::vector<std::string> exclude;  ///< nodes in FP32, beside those of the recipe
  std::vector<std::string> wide{};   ///< tensors in 16 bits, see StaticOptions::wide
  double sqnr_db = 0.0;              ///< of the worst output, the mean over the images
  std::vector<double> output_sqnr_db;
  std::int64_t images = 0;
  std::optional<double> agreement{};  ///< share, see SearchGoal; nothing where it has no meaning
  /// What is sure of it for other images, see SearchGoal::confidence; goals of kAgreement and
  /// kBoxes.
  std::optional<double> agreement_at_least{};
  std::optional<BoxMatch> boxes{};        ///< where boxes are read
  std::optional<double> kept_at_least{};  ///< as agreement_at_least, of FP32's boxes
  std::optional<double> added_at_most{};
  std::int64_t labelled = 0;
  std::int64_t fp32_top1 = 0;
  std::int64_t top1 = 0;
  std::int64_t unanswered = 0;  ///< images that only FP32 answers with numbers
  double integer_share = 0.0;   ///< of the multiplications
  double cost = 0.0;            ///< as forecast, see MixForecast
  bool reaches_goal = false;
  std::optional<MedianInterval> slower_seconds{};  ///< an image's time minus the INT8 model's
};

struct SearchOptions : AnalyzeOptions {
  SearchGoal goal;
  AnswerOptions answers{};  ///< what the outputs mean, where they are more than scores per class
  double budget_seconds = 300.0;     ///< of wall time, all of the search
  double least_integer_share = 0.0;  ///< of the multiplications
  /// How much slower than the INT8 model an image may become: 0.1 is 10 %. Without it, no time
  /// decides anything.
  std::optional<double> most_slower{};
  std::int64_t probed_images = 8;  ///< fewer where the budget demands it
  std::int64_t repeat = 31;        ///< timed runs of each model, on `threads` threads
  std::function<void(const SearchCost&)> announce{};
  /// What was measured is kept here, and what is known here is not measured again: the way of the
  /// search is the same. It does not depend on the goal. Null: nothing is kept.
  PartialResults* partial = nullptr;
  /// A model better than all before it was run, after so many seconds.
  std::function<void(const SearchPoint&, double)> improved{};
};

/// Why a search ended.
enum class SearchEnd : std::uint8_t {
  kComplete,     ///< nothing was left to try
  kBudget,       ///< the time was over
  kInterrupted,  ///< the caller's progress or stop said so
};

struct SearchResult {
  SearchGoal goal;
  /// The answers that the goal counts are too few: a model without a mistake would only be sure to
  /// have this share of FP32's. See SearchGoal::confidence.
  std::optional<double> surest{};
  SearchCost cost;
  SearchEnd end = SearchEnd::kComplete;
  SearchPoint int8;  ///< nothing in FP32 but what the recipe says
  /// The cheapest model that reaches the goal within the limits; where none does, the one that is
  /// nearest.
  SearchPoint best;
  bool reached = false;
  /// Models that no other one beats in both cost and what the goal asks for, the cheapest first: at
  /// most twelve, spread evenly, all with times where the budget allowed for any.
  std::vector<SearchPoint> frontier;
  std::int64_t islands = 0;   ///< sets of nodes that were considered
  std::int64_t tried = 0;     ///< models that were run on the images
  int threads = 1;            ///< that times were measured with
  double int8_seconds = 0.0;  ///< median time of an image; 0 where no time was measured
  double seconds = 0.0;       ///< that the search took
};

/// Which nodes of a recipe's model must stay in FP32 so that it reaches a goal at little cost.
/// Every tensor that is rounded and every layer's weights are measured alone on some images (see
/// analyze()). Taking for granted that their squared errors add up, islands of neighbouring nodes
/// are added in the order of their gain per cost. Models along this path are made and run on all
/// images. Where the target allows it, the tensors that make most noise may keep 16 bits instead,
/// or beside them (StaticOptions::wide). Then islands are added, or nodes given back to the
/// integers, one round of measured models after the other, until nothing brings anything or the
/// budget is used up. Results are of models that were run, never forecasts. Without a limit of time
/// they depend neither on threads nor on times, as long as the budget cuts nothing off. `fp32`: the
/// prepared model, with one input. The progress counts seconds of the budget; a stop ends the
/// search with what was found so far. Throws Error(kUnsupported) when nothing of the model is on
/// integers or a goal does not fit the network, Error(kUsage) for values out of their domain and a
/// budget that is too short to measure anything, Error(kCancelled) when it was stopped before that,
/// and what analyze() and quantize() throw. Cost: the budget at most, or what SearchCost says.
/// Memory: as analyze() and suggest().
SearchResult search(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                    const SearchOptions& options);

/// How faster_only() measures.
struct FasterOptions {
  int threads = 0;            ///< inside operators; 0 = all available
  std::int64_t repeat = 101;  ///< timed runs of each model, fewer where they would take long
  Progress progress{};        ///< counts races of models; may be empty
  StopCheck stop{};           ///< asked while models are made
};

/// What faster_only() found.
struct FasterResult {
  int threads = 1;
  std::int64_t repeat = 0;           ///< timed runs of the last race
  std::int64_t tried = 0;            ///< sets of nodes that ran in FP32
  std::vector<std::string> exclude;  ///< nodes to leave in FP32, beside those of the recipe
  /// Whether FP32 alone is faster than everything with integers: then `exclude` has all nodes.
  bool fp32_alone = false;
  double fp32_seconds = 0.0;   ///< medians of the last race
  double int8_seconds = 0.0;   ///< the recipe's model
  double mixed_seconds = 0.0;  ///< with `exclude`; the recipe's model where that is empty
  MedianInterval gained;       ///< mixed minus the recipe's model, run by run
  MedianInterval over_fp32;    ///< mixed minus FP32
};

/// Which nodes of a recipe's model cost more time on integers than in FP32, conversions between
/// both included. Single steps of both models are timed; of neighbouring layers that are faster in
/// FP32, islands are made; models with islands in FP32 then run in turn with the one without. An
/// island stays only where the interval of the difference lies below 0; what timing cannot tell
/// apart stays on integers. The result runs once more in turn with the recipe's model and FP32.
/// `sample`: a tensor for each input. Throws Error(kUnsupported) when nothing of the model is on
/// integers, and what quantize() and profile() throw. Cost: some seconds, and a second for each of
/// at most 24 models.
FasterResult faster_only(const Executor& fp32, const Recipe& recipe, std::span<const Tensor> sample,
                         const FasterOptions& options);

}  // namespace qtool
