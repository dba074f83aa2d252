#include "search/search_budget.h"

#include <algorithm>

namespace qtool {
namespace {

/// Shares of the budget.
constexpr double kProbeShare = 0.35;
constexpr double kLeastLastShare = 0.1;
constexpr double kMostLastShare = 0.5;
constexpr double kUncertainShare = 0.05;

}  // namespace

double SearchBudget::elapsed() const { return since_.seconds(); }

bool SearchBudget::is_over() const { return elapsed() >= deadline_ + kUncertainShare * seconds_; }

double SearchBudget::end_of_probing() const noexcept { return kProbeShare * seconds_; }

void SearchBudget::set_last_part(double seconds) {
  deadline_ = seconds_ - std::clamp(seconds, kLeastLastShare * seconds_, kMostLastShare * seconds_);
}

void SearchBudget::took(double seconds, std::size_t models) noexcept {
  if (models > 0) per_model_ = seconds / static_cast<double>(models);
}

std::size_t SearchBudget::affordable(std::size_t wanted) const {
  const double models = (deadline_ - elapsed()) / std::max(per_model_, 1e-9);
  if (models >= static_cast<double>(wanted)) return wanted;
  return models < 1.0 ? 0 : static_cast<std::size_t>(models);
}

}  // namespace qtool
