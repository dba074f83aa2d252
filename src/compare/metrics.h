#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtool/compare/profile.h"

namespace qtool {

/// sqnr_db() is clamped to +-kSqnrLimitDb. float32 itself resolves only about 150 dB. So equal
/// signals count as kSqnrLimitDb, and every mean stays finite.
inline constexpr double kSqnrLimitDb = 200.0;

/// Whether `output` is an answer: no NaN, no +infinity, and at least one finite number. -infinity
/// beside finite numbers is allowed: it is the logarithm of a probability of 0. An output without
/// elements is an answer. Cost: O(n).
bool has_answer(std::span<const float> output);

/// The two sums behind an SQNR. The sums of several images, added up, give the pooled SQNR.
struct SqnrSums {
  double signal = 0.0;  ///< sum x^2
  double noise = 0.0;   ///< sum (x - y)^2

  SqnrSums& operator+=(const SqnrSums& other);
  /// 10 log10(signal / noise), clamped as in sqnr_db().
  [[nodiscard]] double decibels() const;
};

/// The sums for two signals, in double, from front to back. Equal infinities are not added to
/// either sum. Throws Error(kMismatch) when the sizes differ. Cost: O(n).
SqnrSums sqnr_sums(std::span<const float> reference, std::span<const float> approximation);

/// Peak signal-to-noise ratio in decibels, 10 log10(peak^2 * elements / noise), clamped as in
/// sqnr_db(). The upper limit for no elements.
double psnr_db(const SqnrSums& sums, std::int64_t elements, double peak);

/// Signal-to-quantization-noise ratio of `approximation` in decibels:
/// 10 log10(sum x^2 / sum (x - y)^2), summed in double from front to back, clamped to
/// +-kSqnrLimitDb. Equal signals (also two empty or all-zero ones) give the upper limit; an
/// approximation with a NaN or infinity gives the lower one. Throws as sqnr_sums() does.
double sqnr_db(std::span<const float> reference, std::span<const float> approximation);

/// Cosine of the angle between two vectors, in [-1, 1].
/// x.y / (|x| |y|) in double. Two zero vectors give 1, one zero vector 0, a NaN or infinity 0.
/// Throws Error(kMismatch) when the sizes differ. Cost: O(n).
double cosine(std::span<const float> a, std::span<const float> b);

/// max |x - y|; infinity when a difference is not a number.
/// Throws Error(kMismatch) when the sizes differ. Cost: O(n).
double max_abs_error(std::span<const float> a, std::span<const float> b);

/// Indices of the `count` largest scores, largest first; all of them when there are fewer.
/// The lower index comes first among equal scores, and NaN comes last, so the answer is the same on
/// every machine. Throws Error(kInvalidArgument) when `count` is negative.
/// Cost: O(n log count).
std::vector<std::int64_t> top_k(std::span<const float> scores, std::int64_t count);

/// Whether the times of repeated runs differ so much that their median says little about the
/// program: the median is at least 1.5 times the fastest run. This happens on a machine that has
/// other work to do.
bool is_unsteady(double median_seconds, double fastest_seconds) noexcept;

/// exp(x - max) / sum exp(x - max) in double. Cost: O(n).
std::vector<double> softmax(std::span<const float> logits);

/// Whether `scores` are probabilities already: all in [0, 1] and their sum within 0.001 of 1. The
/// scores of a network that ends in Softmax must not pass another softmax when results are shown.
bool are_probabilities(std::span<const float> scores);

/// The mean of the values; 0 for none.
double mean_of(std::span<const double> values) noexcept;

/// The middle value (the mean of the middle two for an even count); 0 for no values. Cost: O(n).
double median(std::vector<double> values);

/// The median, and its confidence interval of 95 % or a little more. For fewer than six values, the
/// interval goes from the smallest to the largest value, with less confidence. Zeros for no values.
/// The ends are order statistics: the values of rank (n - 1.96 sqrt(n)) / 2 from either end. So
/// nothing is assumed about the distribution. Cost: O(n log n). Source: Conover, Practical
/// Nonparametric Statistics, section 3.2.
MedianInterval median_interval(std::vector<double> values);

}  // namespace qtool
