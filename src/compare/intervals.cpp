#include "compare/intervals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "base/text.h"

namespace qtool {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kResamples = 2000;
constexpr std::size_t kLeastResamples = 200;
constexpr std::size_t kMostDraws = 20'000'000;         // samples drawn in all
constexpr std::size_t kMostAdditions = 1'000'000'000;  // of values to sums
constexpr std::uint64_t kSeed = 20170511;

/// Two-sided 95 % quantiles of Student's t for 1 to 31 degrees of freedom.
constexpr std::array<double, 31> kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                          2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                          2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                          2.060,  2.056, 2.052, 2.048, 2.045, 2.042, 2.040};

double two_sided_z() { return normal_quantile(0.5 + kConfidence / 2.0); }

// Beyond the table, the first term of the expansion of Cornish and Fisher.
double student_quantile(std::size_t freedom) {
  if (freedom <= kStudent.size()) return kStudent[freedom - 1];
  const double z = two_sided_z();
  return z + (z * z * z + z) / (4.0 * static_cast<double>(freedom));
}

// P(Z <= z) for the standard normal distribution.
double normal_probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

double normal_quantile(double probability) {
  double low = 0.0;
  double high = 40.0;
  for (int halving = 0; halving < 100; ++halving) {
    const double z = 0.5 * (low + high);
    (normal_probability(z) < probability ? low : high) = z;
  }
  return high;
}

double wilson_upper_end(double part, double all, double z) {
  if (all <= 0.0) return 1.0;
  const double share = part / all;
  if (share >= 1.0) return share;
  const double half = z * std::sqrt(share * (1.0 - share) / all + z * z / (4.0 * all * all));
  return std::min(1.0, (share + z * z / (2.0 * all) + half) / (1.0 + z * z / all));
}

std::optional<Interval> wilson_interval(std::int64_t hits, std::int64_t all) {
  if (all <= 0) return std::nullopt;
  const auto total = static_cast<double>(all);
  const double z = two_sided_z();
  return Interval{1.0 - wilson_upper_end(static_cast<double>(all - hits), total, z),
                  wilson_upper_end(static_cast<double>(hits), total, z)};
}

std::int64_t wilson_answers(double share, double limit, std::int64_t most) {
  const double z = two_sided_z();
  const auto holds_limit = [&](std::int64_t answers) {
    const auto all = static_cast<double>(answers);
    return share >= limit ? 1.0 - wilson_upper_end((1.0 - share) * all, all, z) < limit
                          : wilson_upper_end(share * all, all, z) >= limit;
  };
  std::int64_t open = 0;
  std::int64_t decided = most;
  while (decided - open > 1) {
    const std::int64_t answers = open + (decided - open) / 2;
    (holds_limit(answers) ? open : decided) = answers;
  }
  return decided;
}

double deciding_samples(double value, const Interval& interval, double limit,
                        std::int64_t samples) {
  const double half = value >= limit ? value - interval.low : interval.high - value;
  const double ratio = half / std::max(std::abs(value - limit), 1e-9);
  return std::ceil(ratio * ratio * static_cast<double>(samples));
}

std::optional<Interval> bootstrap_interval(std::span<const double> values, std::size_t per_sample,
                                           const SumStatistic& statistic) {
  const auto add = [&](std::size_t sample, std::span<double> sums) {
    for (std::size_t k = 0; k < per_sample; ++k) sums[k] += values[sample * per_sample + k];
  };
  return bootstrap_interval(values.size() / per_sample, per_sample, values.size(), add, statistic);
}

std::optional<Interval> bootstrap_interval(std::size_t samples, std::size_t sums,
                                           std::size_t values, const AddSample& add,
                                           const SumStatistic& statistic) {
  if (std::cmp_less(samples, kLeastBootstrapSamples)) return std::nullopt;
  const std::size_t affordable =
      std::min(kMostDraws / samples, kMostAdditions / std::max(values, std::size_t{1}));
  const std::size_t resamples = std::clamp(affordable, kLeastResamples, kResamples);
  std::mt19937_64 random(kSeed);
  std::vector<double> figures;
  std::vector<double> totals(sums);
  for (std::size_t r = 0; r < resamples; ++r) {
    std::ranges::fill(totals, 0.0);
    for (std::size_t i = 0; i < samples; ++i) {
      // The distributions of the standard library give other numbers elsewhere. There are fewer
      // than 2^32 samples.
      add(((random() >> 32) * samples) >> 32, totals);
    }
    const double figure = statistic(totals);
    if (std::isfinite(figure)) figures.push_back(figure);
  }
  if (2 * figures.size() < resamples) return std::nullopt;
  std::ranges::sort(figures);
  const auto count = static_cast<double>(samples);
  const double tail =
      normal_probability(-student_quantile(samples - 1) * std::sqrt(count / (count - 1.0)));
  const auto last = figures.size() - 1;
  const auto rank = static_cast<std::size_t>(tail * static_cast<double>(last));
  return Interval{figures[rank], figures[last - rank]};
}

std::optional<Interval> mean_interval(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  return bootstrap_interval(values, 1,
                            [&](std::span<const double> sums) { return sums[0] / count; });
}

std::optional<Interval> paired_interval(std::span<const double> differences) {
  if (differences.empty()) return std::nullopt;
  std::vector<double> all(differences.begin(), differences.end());
  all.insert(all.end(), {1.0, -1.0});
  return mean_interval(all);
}

std::optional<Interval> jackknife_interval(double estimate, std::span<const double> without_group) {
  const std::size_t groups = without_group.size();
  if (groups < 2 || !std::isfinite(estimate)) return std::nullopt;
  const auto count = static_cast<double>(groups);
  double mean = 0.0;
  for (const double value : without_group) mean += value / count;
  double squares = 0.0;
  for (const double value : without_group) squares += (value - mean) * (value - mean);
  const double error = std::sqrt((count - 1.0) / count * squares);
  if (!std::isfinite(error)) return std::nullopt;
  const double half = student_quantile(groups - 1) * error;
  return Interval{estimate - half, estimate + half};
}

std::string percent_interval(const std::optional<Interval>& interval) {
  if (!interval) return {};
  return to_text(fixed_interval(Interval{100.0 * interval->low, 100.0 * interval->high}, 1), " %");
}

std::string fixed_interval(const std::optional<Interval>& interval, int decimals) {
  if (!interval) return {};
  return to_text(to_fixed(interval->low, decimals), " to ", to_fixed(interval->high, decimals));
}

}  // namespace qtool
