#pragma once

#include <span>
#include <vector>

#include "analyze/suggest_trials.h"
#include "qtool/search/search.h"

// Estimates, from counts on some images, what holds for images that the search has not seen. This
// is needed because a search that takes the first model with a sufficient count is likely to take a
// model that reached it by luck.
namespace qtool {

/// The upper end of Wilson's one-sided interval for a share. If `mistakes` of `all` checked answers
/// are wrong, the true share of mistakes is at most this value, with `confidence` (0.5 to below 1).
/// At a confidence of 0.5 it is mistakes / all. The same holds if there are more mistakes than
/// answers, because any number of boxes may be added. Without answers it is 1.
/// Source: Wilson, Probable inference, the law of succession, and statistical inference, Journal of
/// the American Statistical Association 22 (1927); Brown, Cai, DasGupta, Interval estimation for a
/// binomial proportion, Statistical Science 16 (2001).
double wilson_upper(double mistakes, double all, double confidence);

/// The largest whole number of mistakes with which wilson_upper() is `most_share` or less. 0 where
/// there are too few answers, so that even no mistake gives more than `most_share`.
double allowed_mistakes(double all, double most_share, double confidence);

/// The sequence that never falls and is nearest to `values` in squared error. Each of its numbers
/// is a mean of neighbouring values. Cost: linear. Source: Ayer et al., An empirical distribution
/// function for sampling with incomplete information, Annals of Mathematical Statistics 26 (1955).
std::vector<double> rising_fit(std::span<const double> values);

/// The noise of a model that is well beyond all goals in decibels; 0 where another goal is given,
/// because no noise is known to reach it.
double enough_noise(const std::vector<SearchGoal>& goals);

/// A count that a goal limits.
struct GoalCount {
  enum class Kind {
    kNotKept,       ///< boxes of FP32 that are not kept
    kAdded,         ///< boxes that FP32 does not have
    kOtherClasses,  ///< images with another class than FP32
    kOtherPixels,   ///< pixels, counted in images; there are so many that chance hardly matters
  };
  Kind kind = Kind::kOtherClasses;
  double mistakes = 0.0;
  double all = 0.0;         ///< number of boxes of FP32, or of images
  double most_share = 0.0;  ///< share of mistakes that the goal allows
  double confidence = 0.5;  ///< see SearchGoal::confidence
};

/// Whether only the model's own count decides, without the curve through all models.
bool counts_alone(const GoalCount& count);

/// The counts for a goal of kAgreement or kBoxes, in the same order for all models. Empty for other
/// goals.
std::vector<GoalCount> goal_counts(const SearchGoal& goal, const TrialScore& score);

/// The most mistakes that a count may have with its confidence.
double allowed_mistakes(const GoalCount& count);
/// The largest share of mistakes, with the confidence of `count`, on images that the search has not
/// seen. `mistakes` is used instead of count.mistakes.
double sure_share(const GoalCount& count, double mistakes);

}  // namespace qtool
