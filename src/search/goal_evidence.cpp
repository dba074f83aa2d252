#include "search/goal_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "compare/intervals.h"

namespace qtool {
namespace {

constexpr double kRounding = 1e-9;  // in floating point, 100 * 0.58 is less than 58
/// So far beyond a goal, because sources measured alone may promise too much.
constexpr double kBeyondDb = 6.0;

}  // namespace

double wilson_upper(double mistakes, double all, double confidence) {
  return wilson_upper_end(mistakes, all, normal_quantile(confidence));
}

double allowed_mistakes(double all, double most_share, double confidence) {
  const double z = normal_quantile(confidence);
  // The upper end of the interval lies above the share and rises with it, so bisection finds the
  // limit.
  double fits = 0.0;
  double fails = std::floor(most_share * all + kRounding) + 1.0;
  while (fails - fits > 1.0) {
    const double mistakes = std::floor(0.5 * (fits + fails));
    (wilson_upper_end(mistakes, all, z) <= most_share + kRounding ? fits : fails) = mistakes;
  }
  return fits;
}

std::vector<double> rising_fit(std::span<const double> values) {
  struct Level {
    double sum = 0.0;
    std::size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Level> levels;
  for (const double value : values) {
    levels.push_back({value, 1});
    while (levels.size() > 1 && levels[levels.size() - 2].mean() > levels.back().mean()) {
      const Level last = levels.back();
      levels.pop_back();
      levels.back().sum += last.sum;
      levels.back().count += last.count;
    }
  }
  std::vector<double> fit;
  for (const Level& level : levels) fit.insert(fit.end(), level.count, level.mean());
  return fit;
}

double enough_noise(const std::vector<SearchGoal>& goals) {
  double least = std::numeric_limits<double>::infinity();
  for (const SearchGoal& goal : goals) {
    if (goal.kind != SearchGoal::Kind::kSqnr) return 0.0;
    least = std::min(least, std::pow(10.0, -(goal.value + kBeyondDb) / 10.0));
  }
  return least;
}

bool counts_alone(const GoalCount& count) { return count.confidence <= 0.5; }

std::vector<GoalCount> goal_counts(const SearchGoal& goal, const TrialScore& score) {
  const bool boxes = goal.kind == SearchGoal::Kind::kBoxes;
  if (!boxes && goal.kind != SearchGoal::Kind::kAgreement) return {};
  const double most = 1.0 - goal.value / 100.0;
  std::vector<GoalCount> counts;
  const auto add = [&](GoalCount::Kind kind, double mistakes, double all, double most_share) {
    counts.push_back({kind, mistakes, all, most_share, goal.confidence});
  };
  if (score.boxes) {
    const auto all = static_cast<double>(score.boxes->fp32);
    add(GoalCount::Kind::kNotKept, all - static_cast<double>(score.boxes->kept), all, most);
    add(GoalCount::Kind::kAdded, static_cast<double>(score.boxes->added()), all,
        boxes ? goal.most_added / 100.0 : most);
  }
  if (boxes) return counts;
  const auto images = static_cast<double>(score.images);
  if (score.equal_pixels) {
    add(GoalCount::Kind::kOtherPixels, (1.0 - *score.equal_pixels) * images, images, most);
  } else if (!score.boxes && score.agreement) {
    add(GoalCount::Kind::kOtherClasses, (1.0 - *score.agreement) * images, images, most);
  }
  return counts;
}

double allowed_mistakes(const GoalCount& count) {
  if (count.kind == GoalCount::Kind::kOtherPixels) return count.most_share * count.all;
  constexpr double kHalf = 0.5;  // values of the curve are not whole numbers
  const double allowed = allowed_mistakes(count.all, count.most_share, count.confidence);
  return count.confidence > kHalf ? allowed + kHalf : allowed;
}

double sure_share(const GoalCount& count, double mistakes) {
  if (count.kind == GoalCount::Kind::kOtherPixels) return mistakes / std::max(count.all, 1.0);
  return wilson_upper(mistakes, count.all, count.confidence);
}

}  // namespace qtool
