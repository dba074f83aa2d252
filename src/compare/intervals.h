#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "qtool/answers/answer.h"

// Intervals that hold a figure with 95 % confidence, for other samples of the same kind.
namespace qtool {

/// z with P(Z <= z) = `probability` (0.5 to below 1), for the standard normal distribution.
double normal_quantile(double probability);

/// The upper end of Wilson's interval for the share part / all, at z standard deviations. Where
/// part >= all it is the share itself, because a count of added boxes may exceed `all`; without
/// answers (all = 0) it is 1.
/// Source: Wilson, Probable inference, the law of succession, and statistical inference, Journal of
/// the American Statistical Association 22 (1927); Brown, Cai, DasGupta, Interval estimation for a
/// binomial proportion, Statistical Science 16 (2001).
double wilson_upper_end(double part, double all, double z);

/// Wilson's interval for a share of independent answers, `hits` of `all`. nullopt without answers.
std::optional<Interval> wilson_interval(std::int64_t hits, std::int64_t all);

/// The number of answers with which Wilson's interval of `share` no longer holds `limit`; at most
/// `most`. Cost: logarithmic.
std::int64_t wilson_answers(double share, double limit, std::int64_t most);

/// More samples are not asked for.
inline constexpr std::int64_t kMostSamplesToAsk = 10'000;

/// The number of samples with which an interval that was found on `samples` would end at `limit`.
/// The width of most intervals falls with the square root of the number.
double deciding_samples(double value, const Interval& interval, double limit, std::int64_t samples);

/// The fewest samples with a bootstrap. It never leaves the range of the figures of single samples,
/// and all n samples lie on one side of the median with a probability of 2^(1 - n): for 5 samples
/// this is more than 5 %.
inline constexpr std::int64_t kLeastBootstrapSamples = 6;

/// The figure of a set of samples, from the sums of the values of its samples.
using SumStatistic = std::function<double(std::span<const double> sums)>;

/// The percentile interval of the bootstrap over samples. `values`: [sample][value], `per_sample`
/// values each. The samples are drawn anew with replacement, up to 2,000 times, and `statistic`
/// computes the figure from the sums of the drawn values. Values of two models for one sample are
/// drawn together, so that the bootstrap of their difference is paired. With n samples the
/// percentiles are those of Phi(-t sqrt(n / (n - 1))), with Student's t for n - 1 degrees of
/// freedom, because plain percentiles are too narrow for few samples. The generator begins with a
/// fixed seed, so the result is always the same. nullopt for fewer than kLeastBootstrapSamples, and
/// where the figure is mostly not finite. Cost: 2,000 passes over the values, fewer for more than
/// 10,000 samples. Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13; the
/// percentiles: Hesterberg, What Teachers Should Know About the Bootstrap, The American
/// Statistician 69 (2015).
std::optional<Interval> bootstrap_interval(std::span<const double> values, std::size_t per_sample,
                                           const SumStatistic& statistic);

/// Adds the values of a sample to the sums.
using AddSample = std::function<void(std::size_t sample, std::span<double> sums)>;

/// The same for samples of which each has values for some of the sums only. `sums`: the number of
/// sums; `values`: the number of values of all samples together. The samples are drawn less often,
/// but at least 200 times, where there are more than half a million values.
std::optional<Interval> bootstrap_interval(std::size_t samples, std::size_t sums,
                                           std::size_t values, const AddSample& add,
                                           const SumStatistic& statistic);

/// The interval of the mean of the values, one per sample. As bootstrap_interval().
std::optional<Interval> mean_interval(std::span<const double> values);

/// The interval of the mean of paired differences, each -1, 0 or 1: whether INT8 names the class of
/// a sample right minus whether FP32 does. As bootstrap_interval(), with one sample more of each
/// sign, which counts. Otherwise a set in which nothing changed would claim that nothing can
/// change. Source: Bonett and Price, Adjusted Wald confidence interval for a difference of binomial
/// proportions based on paired data, Journal of Educational and Behavioral Statistics 37 (2012).
std::optional<Interval> paired_interval(std::span<const double> differences);

/// The number of groups. Samples are assigned to the groups in turn.
inline constexpr std::size_t kJackknifeGroups = 32;

/// The interval of a statistic by the jackknife. `estimate` is its value on all samples. The
/// samples are divided into g equal groups, and each entry of `without_group` is the value with one
/// group left out. The interval is estimate +- t s, with s^2 = (g - 1) / g sum (value - mean)^2
/// over the g groups and Student's t for g - 1 degrees of freedom. With one sample in each group,
/// this is the plain jackknife. nullopt for fewer than two groups, or where a value is not finite.
/// It needs no values of single samples, unlike the bootstrap. Cost: linear.
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 11; by groups: Kott, The
/// Delete-a-Group Jackknife, Journal of Official Statistics 17 (2001).
std::optional<Interval> jackknife_interval(double estimate, std::span<const double> without_group);

/// `76.4 to 99.1 %`, for an interval of shares; empty without one.
std::string percent_interval(const std::optional<Interval>& interval);
/// `22.71 to 23.64`, with so many decimals; empty without an interval.
std::string fixed_interval(const std::optional<Interval>& interval, int decimals);

}  // namespace qtool
