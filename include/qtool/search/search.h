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

/// The goal that a model must reach on the images, compared with FP32.
struct SearchGoal {
  enum class Kind : std::uint8_t {
    kSqnr,  ///< SQNR of `value` dB or more: pooled, worst output
    /// `value` percent or more of the answers agree with FP32. For class scores: the share of
    /// images with FP32's top-1 class. With a mask: the share of pixels with FP32's class. With
    /// boxes: the share of FP32's boxes that are kept, and also 100 minus the added boxes in
    /// percent of FP32's boxes (at the lowest score of the detector and IoU 0.7).
    kAgreement,
    kTop1Drop,  ///< top-1 accuracy falls by `value` points or less; needs labels
    /// `value` percent or more of FP32's boxes are kept, and the added boxes are at most
    /// `most_added` percent of FP32's boxes.
    kBoxes,
  };
  Kind kind = Kind::kSqnr;
  double value = 0.0;
  double most_added = 1e9;  ///< kBoxes: no limit by default
  /// The confidence that images which the search did not see reach the goal too, from 0.5 to below
  /// 1. Used for kAgreement and kBoxes. First, a curve that never falls as the noise of the models
  /// rises is fitted to the counts of mistakes of all models. The value of the curve at a model's
  /// noise replaces the count of this model. Second, the end of Wilson's interval around that value
  /// must reach the goal. If there are too few images for any model to do so, no mistake on them is
  /// allowed. 0.5: the count itself decides.
  double confidence = 0.9;
};

/// The estimated cost of the parts of a search, known before it begins.
struct SearchCost {
  std::int64_t images = 0;     ///< images that each model is run on
  std::int64_t sources = 0;    ///< sources that are measured one by one
  std::int64_t probed = 0;     ///< images on which sources are measured
  double probe_seconds = 0.0;  ///< time of one of these images on one thread
  double trial_seconds = 0.0;  ///< time of one image and model on one thread
};

/// A model that was made and run on the images.
struct SearchPoint {
  std::vector<std::string> exclude;  ///< nodes in FP32, in addition to the base model's
  std::vector<std::string> wide{};   ///< tensors in 16 bits, see StaticOptions::wide
  double sqnr_db = 0.0;              ///< worst output, pooled
  std::vector<double> output_sqnr_db;
  std::int64_t images = 0;
  std::optional<double> agreement{};  ///< share, see SearchGoal; nullopt where it has no meaning
  /// The least agreement on other images, with SearchGoal::confidence; for kAgreement and kBoxes.
  std::optional<double> agreement_at_least{};
  std::optional<BoxMatch> boxes{};        ///< set where boxes are read
  std::optional<double> kept_at_least{};  ///< as agreement_at_least, for the share of boxes kept
  std::optional<double> added_at_most{};  ///< the most added boxes on other images / FP32's boxes
  std::int64_t labelled = 0;
  std::int64_t fp32_top1 = 0;
  std::int64_t top1 = 0;
  std::int64_t unanswered = 0;  ///< images that only FP32 answers
  double integer_share = 0.0;   ///< share of the multiplications on integers
  double cost = 0.0;            ///< the forecast cost, see MixForecast
  bool reaches_goal = false;    ///< all goals
  /// Whether the model is known to break least_integer_share or max_latency_cost.
  bool beyond_limit = false;
  std::optional<MedianInterval> slower_seconds{};  ///< time per image minus that of `int8`
};

/// The figures of one model against FP32, as evaluate() gives them, with its intervals.
struct SearchFigures {
  std::int64_t images = 0;
  double sqnr_db = 0.0;  ///< worst output, pooled
  std::optional<Interval> sqnr_interval_db{};
  std::optional<double> agreement{};  ///< share, see SearchGoal; nullopt where it has no meaning
  /// Of `agreement`, if that counts classes or pixels; nullopt with boxes.
  std::optional<Interval> agreement_interval{};
  std::optional<BoxMatch> boxes{};  ///< with its intervals
  std::int64_t labelled = 0;
  std::int64_t fp32_top1 = 0;
  std::int64_t top1 = 0;
  /// Of (top1 - fp32_top1) / labelled.
  std::optional<Interval> top1_change_interval{};
};

/// What intervals say about the goals.
enum class GoalVerdict : std::uint8_t {
  kReached,    ///< the interval of each figure lies beyond its goal
  kUndecided,  ///< an interval holds its goal
  kMissed,     ///< the interval of a figure lies below its goal
};

/// The base model and the found model on a part of the images.
struct SearchedPart {
  SearchFigures int8;
  SearchFigures best;
  /// How many decibels the found model has more than `int8`: the mean over the images, of each its
  /// worst output. The interval is a bootstrap over images of the paired differences.
  double gain_db = 0.0;
  std::optional<Interval> gain_interval_db{};
  GoalVerdict verdict = GoalVerdict::kUndecided;
  /// Where undecided: the number of images with which the intervals would probably decide; 0 if it
  /// is very large, or not known.
  std::int64_t deciding_images = 0;
  /// Where undecided: no interval is known for a figure, as for samples with states, although there
  /// are enough images for one.
  bool lacks_interval = false;
};

struct SearchOptions : AnalyzeOptions {
  /// One or more goals, of any kinds. A model must reach all of them.
  std::vector<SearchGoal> goals{};
  AnswerOptions answers{};           ///< meaning of outputs that are not scores per class
  double budget_seconds = 300.0;     ///< wall time of the whole search
  double least_integer_share = 0.0;  ///< least share of multiplications on integers
  /// How much slower than the INT8 model a model may be: 0.1 is 10 %. Without this limit, no
  /// measured time affects the choice.
  std::optional<double> max_latency_cost{};
  std::int64_t probed_images = 8;  ///< fewer if the budget is too short
  std::int64_t repeat = 31;        ///< timed runs of each model, on `threads` threads
  std::function<void(const SearchCost&)> announce{};
  /// Measurements are kept here, and a measurement that is kept here is not repeated. The search
  /// takes the same steps as without kept measurements. What is kept does not depend on the goal.
  /// Null: nothing is kept.
  PartialResults* partial = nullptr;
  /// Called with each model that is better than all models before it, and the seconds since the
  /// search began.
  std::function<void(const SearchPoint&, double)> improved{};
};

/// Why a search ended.
enum class SearchEnd : std::uint8_t {
  kComplete,     ///< nothing was left to try
  kBudget,       ///< the budget was used up
  kInterrupted,  ///< the caller's progress or stop ended it
};

/// Models count as equally cheap within this difference of their forecast costs, which are shares
/// of the network's multiplications.
inline constexpr double kNearCost = 0.05;

struct SearchResult {
  std::vector<SearchGoal> goals;
  /// Set when there are too few answers for the goal: even for a model without a mistake, only this
  /// share of answers is sure to agree with FP32. See SearchGoal::confidence.
  std::optional<double> surest{};
  SearchCost cost;
  SearchEnd end = SearchEnd::kComplete;
  SearchPoint int8;  ///< the base model
  /// Of the models that reach the goals within the limits: the cheapest one. With a goal that
  /// counts answers, it is the one with the most decibels among those that cost at most kNearCost
  /// more than the cheapest. If no model reaches the goals, the model that is nearest to them: the
  /// goal that it misses most is missed by least, where a decibel counts as much as a percent.
  SearchPoint best;
  /// With a goal that counts answers: the model with the most decibels among all that reach the
  /// goals within the limits, if it is another one than `best`. It costs more.
  std::optional<SearchPoint> most_decibels{};
  bool reached = false;        ///< on the images that were searched on
  std::int64_t held_back = 0;  ///< images that no model was chosen by
  /// Whether the contents of the images were compared. If not, because the search was stopped or
  /// the budget was used up, the next two counts and `overlap` are not known.
  bool contents_compared = false;
  std::int64_t held_copies = 0;      ///< held images that are copies of images searched on
  std::int64_t held_calibrated = 0;  ///< held images that also set the ranges
  /// Whether the base model was made with steps that learn from images (rounded weights, tuned
  /// ranges, corrected biases). The held images may have been among them.
  bool learned = false;
  /// The base model and `best` on the images that were searched on, and on the images that were
  /// held back. nullopt if the search was stopped, the budget was used up before (then `end` is not
  /// kComplete), or no images were held back.
  std::optional<SearchedPart> searched{};
  std::optional<SearchedPart> held_out{};
  /// Models that leave the nodes of the loudest 1, 2, 4 ... sources in FP32, in this order. Empty
  /// if the base model reaches the goals.
  std::vector<SearchPoint> loudest{};
  /// First `int8`, then at most twelve models that no other model beats in both cost and the
  /// measure of the goals, and `best`. They are spread evenly, the cheapest first, and have times
  /// if the budget allowed it.
  std::vector<SearchPoint> frontier;
  std::int64_t islands = 0;     ///< sets of nodes that were considered
  std::int64_t tried = 0;       ///< models that were run on the images
  int threads = 1;              ///< threads with which times were measured
  double int8_seconds = 0.0;    ///< median time of an image; 0 where no time was measured
  double seconds = 0.0;         ///< time that the search took
  std::vector<BadImage> bad{};  ///< images that were left out, in the order of the list
  PassedOver passed_over{};     ///< see Samples::passed_over()
  /// As EvalResult::overlap, of all images. Usually the images that set the ranges are searched on,
  /// too.
  std::optional<Overlap> overlap{};
};

/// Finds nodes of the base model that must stay in FP32 so that it reaches goals at little cost.
/// Every third image is held back and plays no part in the choice; on these images, the base model
/// and the found model are judged at the end. (With fewer than kLeastForHoldOut images, none is
/// held back. Ranges and rounded weights of `base` may know all images.) On the others, every
/// rounded tensor and every layer's weights are measured alone on some images (see analyze()). The
/// nodes of the loudest sources are tried in FP32 first. The search assumes that the squared errors
/// of sources add up. Islands, which are sets of neighbouring nodes, are moved to FP32 one after
/// another in the order of their gain per cost. Models along this path are made and run on all
/// images. If the target allows it, the tensors with the most noise may keep 16 bits
/// (StaticOptions::wide), instead of islands in FP32 or in addition to them. Then rounds of models
/// are measured, in which islands are added to FP32 or nodes are given back to the integers, until
/// a round gains nothing or the budget is used up. All results come from models that were run,
/// never from forecasts. Without a limit on time, they depend neither on threads nor on times,
/// unless the budget ends the search early. `fp32`: the prepared model, with one input. The
/// progress counts seconds of the budget; a stop ends the search with the results so far. Throws
/// Error(kUnsupported) when nothing of the model is on integers or a goal does not fit the network,
/// Error(kUsage) for values out of their domain and a budget that is too short to measure anything,
/// Error(kCancelled) when it was stopped before that, and what analyze() and quantize() throw.
/// Cost: the budget at most, or what SearchCost says. Memory: as for analyze() and suggest().
SearchResult search(const Executor& fp32, const StaticInputs& base, const Samples& samples,
                    const SearchOptions& options);

/// How faster_only() measures.
struct FasterOptions {
  int threads = 0;            ///< threads inside operators; 0 = all available
  std::int64_t repeat = 101;  ///< timed runs of each model, fewer where they would take long
  Progress progress{};        ///< counts races of models; may be empty
  StopCheck stop{};           ///< asked while models are made
};

/// The results of faster_only().
struct FasterResult {
  int threads = 1;
  std::int64_t repeat = 0;           ///< timed runs of the last race
  std::int64_t tried = 0;            ///< sets of nodes that ran in FP32
  std::vector<std::string> exclude;  ///< nodes to leave in FP32, in addition to the base model's
  /// Whether FP32 alone is faster than the best model with integers. Then `exclude` has all nodes.
  bool fp32_alone = false;
  double fp32_seconds = 0.0;   ///< medians of the last race
  double int8_seconds = 0.0;   ///< the base model
  double mixed_seconds = 0.0;  ///< the fastest mixed model; if none, the base model
  MedianInterval gained;       ///< mixed minus the base model, run by run
  MedianInterval over_fp32;    ///< mixed minus FP32
};

/// Finds nodes of the base model that take more time on integers than in FP32, with the
/// conversions between both included. First, single steps of both models are timed, and
/// neighbouring layers that are faster in FP32 form islands. Then models with islands in FP32 run
/// in turn with the model without them. An island stays in FP32 only where the interval of the time
/// difference lies below 0. Where no difference can be measured, the nodes stay on integers. At the
/// end the result runs in turn with the base model and FP32 once more. `sample`: a tensor for
/// each input. Throws Error(kUnsupported) when nothing of the model is on integers, and what
/// quantize() and profile() throw. Cost: some seconds, and a second for each of at most 24 models.
FasterResult faster_only(const Executor& fp32, const StaticInputs& base,
                         std::span<const Tensor> sample, const FasterOptions& options);

}  // namespace qtool
