// Measures how counting on a grid of cells changes the KL threshold, compared with bins that are
// counted directly. Prints the table of docs/research/calibration.md, section 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "calib/methods/whole_bin_kl.h"
#include "quant/histogram.h"
#include "support/least_divergence.h"

namespace qtool {
namespace {

constexpr std::int64_t kBins = 2048;
constexpr std::int64_t kLevels = 128;

struct Data {
  std::string name;
  std::function<double(std::mt19937&)> draw;
};

std::vector<Data> grid_distributions() {
  const auto normal = [](std::mt19937& random) { return std::normal_distribution<>()(random); };
  const auto student = [](std::mt19937& random) {
    return std::student_t_distribution<>(4)(random);
  };
  return {
      {"normal", normal},
      {"normal after ReLU", [=](std::mt19937& random) { return std::max(normal(random), 0.0); }},
      {"exponential",
       [](std::mt19937& random) { return std::exponential_distribution<>()(random); }},
      {"cubed normal", [=](std::mt19937& random) { return std::pow(normal(random), 3.0); }},
      {"Student t, 4 degrees", student},
      {"Student t, 4 degrees, after ReLU",
       [=](std::mt19937& random) { return std::max(student(random), 0.0); }},
  };
}

TEST(KlGrid, ThresholdsAreAsGoodAsThoseOfBinsCountedDirectly) {
  for (const Data& data : grid_distributions()) {
    std::mt19937 random(1);
    std::vector<float> values(500'000);
    for (float& value : values) value = static_cast<float>(data.draw(random));
    FloatHistogram grid;
    grid.observe(values);
    LinearHistogram direct{0.0, grid.absmax(), std::vector<std::int64_t>(kBins)};
    count_magnitudes(values, direct);

    const std::int64_t from_cells =
        least_divergence(WholeBinKl(magnitude_histogram(grid, kBins).counts, kLevels), kLevels);
    const WholeBinKl search(direct.counts, kLevels);
    const std::int64_t best = least_divergence(search, kLevels);
    const auto divergence = [&](std::int64_t kept) {
      return search.divergences()[static_cast<std::size_t>(kept - kLevels)];
    };
    // The relative increase of the divergence in the true bins, for the threshold that was found in
    // cells.
    const double excess = divergence(from_cells) / divergence(best) - 1.0;
    std::cout << to_text("| ", data.name, " | ", from_cells, " | ", best, " | ",
                         to_fixed(100.0 * excess, 1), " % |\n");
    EXPECT_LE(excess, 0.01) << data.name;
  }
}

}  // namespace
}  // namespace qtool
