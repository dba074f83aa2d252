#include "calib/methods/whole_bin_kl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/least_divergence.h"

namespace qtool {
namespace {

using Counts = std::vector<std::int64_t>;

// The divergence by its definition, bin by bin.
double divergence_by_definition(const Counts& counts, std::int64_t kept, std::int64_t levels) {
  const auto n = static_cast<std::size_t>(kept);
  std::vector<double> p(counts.begin(), counts.begin() + kept);
  for (std::size_t j = n; j < counts.size(); ++j) p.back() += static_cast<double>(counts[j]);
  std::vector<double> sum(static_cast<std::size_t>(levels));
  std::vector<double> filled(static_cast<std::size_t>(levels));
  const auto level_of = [&](std::size_t j) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(j) * levels / kept);
  };
  for (std::size_t j = 0; j < n; ++j) {
    sum[level_of(j)] += static_cast<double>(counts[j]);
    filled[level_of(j)] += counts[j] > 0 ? 1.0 : 0.0;
  }
  std::vector<double> q(n);
  for (std::size_t j = 0; j < n; ++j) {
    if (counts[j] > 0) q[j] = sum[level_of(j)] / filled[level_of(j)];
  }
  double p_sum = 0.0;
  double q_sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    p_sum += p[j];
    q_sum += q[j];
  }
  double divergence = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (p[j] == 0.0) continue;
    if (q[j] == 0.0) return std::numeric_limits<double>::infinity();
    divergence += p[j] / p_sum * std::log((p[j] / p_sum) / (q[j] / q_sum));
  }
  return divergence;
}

void expect_kl_definition(const Counts& counts, std::int64_t levels) {
  const WholeBinKl candidates(counts, levels);
  const auto bins = static_cast<std::int64_t>(counts.size());
  std::int64_t best = bins;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t kept = levels; kept <= bins; ++kept) {
    const double expected = divergence_by_definition(counts, kept, levels);
    const double found = candidates.divergences()[static_cast<std::size_t>(kept - levels)];
    if (std::isinf(expected)) {
      ASSERT_EQ(found, expected) << "kept " << kept;
    } else {
      ASSERT_NEAR(found, expected, 1e-12) << "kept " << kept;
    }
    if (expected < least - 1e-12 || (expected <= least + 1e-12 && expected < 1e300)) best = kept;
    least = std::min(least, expected);
  }
  EXPECT_EQ(least_divergence(candidates, levels), best);
}

Counts normal_counts(std::int64_t samples, std::int64_t bins, double exponent, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(samples));
  double largest = 0.0;
  for (double& value : values) {
    value = std::pow(std::fabs(normal(random)), exponent);
    largest = std::max(largest, value);
  }
  Counts counts(static_cast<std::size_t>(bins));
  for (const double value : values) {
    const auto bin = static_cast<std::int64_t>(value / largest * static_cast<double>(bins));
    ++counts[static_cast<std::size_t>(std::min(bin, bins - 1))];
  }
  return counts;
}

TEST(WholeBinKl, GivesThePublishedDivergence) {
  const WholeBinKl candidates(Counts{1, 0, 2, 3, 5, 3, 1, 7}, 2);
  EXPECT_NEAR(candidates.divergences().back(), 0.15031526533674, 1e-12);
}

TEST(WholeBinKl, PutsTheClippedTailIntoPOnly) {
  // Three of four bins are kept, with one level each: P = (4, 2, 2), Q = (4, 2, 1) / 7 * 8.
  const WholeBinKl candidates(Counts{4, 2, 1, 1}, 3);
  const double expected = 0.5 * std::log(0.5 / (4.0 / 7.0)) + 0.25 * std::log(0.25 / (2.0 / 7.0)) +
                          0.25 * std::log(0.25 / (1.0 / 7.0));
  EXPECT_NEAR(candidates.divergences().front(), expected, 1e-14);
}

TEST(WholeBinKl, MatchesTheDefinitionOnRandomHistograms) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const auto levels = static_cast<std::int64_t>(random() % 12 + 1);
    const auto bins = levels + static_cast<std::int64_t>(random() % 90);
    Counts counts(static_cast<std::size_t>(bins));
    for (auto& count : counts) count = random() % 3 == 0 ? 0 : static_cast<int>(random() % 50);
    counts.back() += 1;
    expect_kl_definition(counts, levels);
  }
}

TEST(WholeBinKl, MatchesTheDefinitionOnBellShapedHistograms) {
  expect_kl_definition(normal_counts(200000, 512, 1.0, 12), 128);
  expect_kl_definition(normal_counts(3000, 512, 1.5, 13), 128);  // many empty bins
  expect_kl_definition(normal_counts(200000, 300, 0.5, 14), 32);
}

TEST(WholeBinKl, KeepsRoundingErrorsFarBelowATieForLargeCounts) {
  Counts counts = normal_counts(500000, 2048, 1.0, 15);
  for (auto& count : counts) count *= 1000003;
  const WholeBinKl candidates(counts, 128);
  std::int64_t compared = 0;
  for (std::int64_t kept = 128; kept <= 2048; kept += 60) {
    const double expected = divergence_by_definition(counts, kept, 128);
    if (std::isinf(expected)) continue;  // an empty bin in the tail
    ++compared;
    EXPECT_NEAR(candidates.divergences()[static_cast<std::size_t>(kept - 128)], expected, 1e-12);
  }
  EXPECT_GT(compared, 20);
}

TEST(WholeBinKl, FindsTheLevelsOfTheLargestHistogramsItTakes) {
  constexpr std::int64_t kBins = 1 << 17;
  std::mt19937 random(16);
  Counts counts(kBins);
  for (auto& count : counts) count = 1 + static_cast<int>(random() % 50);
  for (const std::int64_t levels : {kBins - 3, kBins - 50}) {
    const WholeBinKl candidates(counts, levels);
    for (const std::int64_t kept : {levels, levels + 1, (levels + kBins) / 2, kBins}) {
      EXPECT_NEAR(candidates.divergences()[static_cast<std::size_t>(kept - levels)],
                  divergence_by_definition(counts, kept, levels), 1e-10)
          << levels << " levels, kept " << kept;
    }
  }
}

TEST(WholeBinKl, RejectsCandidatesThatEndInAnEmptyBin) {
  const WholeBinKl candidates(Counts{5, 5, 0, 0, 5}, 2);
  EXPECT_TRUE(std::isfinite(candidates.divergences()[0]));
  EXPECT_TRUE(std::isinf(candidates.divergences()[1]));
  EXPECT_TRUE(std::isinf(candidates.divergences()[2]));
}

TEST(WholeBinKl, KeepsAllBinsWhenNothingElseIsPossible) {
  Counts spike(2048);
  spike.back() = 7;
  EXPECT_EQ(least_divergence(WholeBinKl(spike, 128), 128), 2048);
  EXPECT_EQ(least_divergence(WholeBinKl(Counts(2048), 128), 128), 2048);
}

TEST(WholeBinKl, TakesTheLargestOfEqualCandidates) {
  // Two equal spikes. The candidate with two bins has a tail, and Q is 0 in the bin that gets it,
  // so the candidate with all three bins is taken.
  EXPECT_EQ(least_divergence(WholeBinKl(Counts{8, 0, 8}, 2), 2), 3);
  // All bins are equal. A candidate without a tail is exact, and only the last one has no tail.
  EXPECT_EQ(least_divergence(WholeBinKl(Counts(256, 3), 128), 128), 256);
}

}  // namespace
}  // namespace qtool
