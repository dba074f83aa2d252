#pragma once

#include <span>
#include <vector>

#include "analyze/suggest_trials.h"
#include "qtool/search/search.h"

// What counts on some images say about images that nobody has seen: a search that takes the first
// model whose count suffices takes the luckiest one.
namespace qtool {

/// The upper end of Wilson's interval for a share, one-sided: with `confidence` (0.5 to below 1)
/// the share of mistakes among all answers is at most this, when `mistakes` of `all` answers that
/// were looked at are wrong. At a confidence of 0.5 the share itself. More mistakes than answers
/// (boxes may be added without end) give the share itself; no answers give 1.
/// Source: Wilson, Probable inference, the law of succession, and statistical inference, Journal of
/// the American Statistical Association 22 (1927); Brown, Cai, DasGupta, Interval estimation for a
/// binomial proportion, Statistical Science 16 (2001).
double wilson_upper(double mistakes, double all, double confidence);

/// The most mistakes, a whole number, with which wilson_upper() is `most_share` or less. Where even
/// none would be too many, because the answers are too few, 0.
double allowed_mistakes(double all, double most_share, double confidence);

/// The numbers that never fall and are nearest to `values` in squared error: each is a mean of
/// neighbours. Cost: linear. Source: Ayer et al., An empirical distribution function for sampling
/// with incomplete information, Annals of Mathematical Statistics 26 (1955).
std::vector<double> rising_fit(std::span<const double> values);

/// A count that a goal limits.
struct GoalCount {
  enum class Kind {
    kNotKept,       ///< boxes
    kAdded,         ///< boxes
    kOtherClasses,  ///< images
    kOtherPixels,   ///< as parts of images: so many that chance among them says little
  };
  Kind kind = Kind::kOtherClasses;
  double mistakes = 0.0;
  double all = 0.0;         ///< boxes of FP32, or images
  double most_share = 0.0;  ///< of mistakes, that the goal allows
};

/// The counts of a goal of agreement or of boxes, in an order that is equal for all models; none
/// for other goals.
std::vector<GoalCount> goal_counts(const SearchGoal& goal, const TrialScore& score);

/// What a count may be with `confidence`, see SearchGoal.
double allowed_mistakes(const GoalCount& count, double confidence);
/// The share of mistakes that images which nobody has seen have at most, if `mistakes` is what
/// `count` should be.
double sure_share(const GoalCount& count, double mistakes, double confidence);

}  // namespace qtool
