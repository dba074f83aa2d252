// Decides whether two models are equal, and whether their differences are within limits.
#include <algorithm>

#include "compare/diff/model_diff.h"

namespace qtool {

bool WeightDiff::equal() const noexcept { return diff && !diff->first_mismatch; }

bool ModelDiff::same_structure() const noexcept {
  return interface.empty() && only_a.empty() && only_b.empty() && changed.empty();
}

bool ModelDiff::equal() const noexcept {
  return same_structure() && quantize_a == quantize_b && scales_only_a.empty() &&
         scales_only_b.empty() &&
         std::all_of(weights.begin(), weights.end(),
                     [](const WeightDiff& w) { return w.equal(); }) &&
         std::all_of(scales.begin(), scales.end(),
                     [](const ScaleDiff& s) { return s.within(0.0); });
}

bool ModelLimits::accept(const ModelDiff& diff) const noexcept {
  const auto weight_fits = [&](const WeightDiff& weight) {
    return weight.diff.has_value() && weights.accept(*weight.diff);
  };
  const auto scale_fits = [&](const ScaleDiff& scale) {
    return !tolerance || scale.within(*tolerance);
  };
  return diff.only_a.empty() && diff.only_b.empty() && diff.changed.empty() &&
         std::all_of(diff.weights.begin(), diff.weights.end(), weight_fits) &&
         std::all_of(diff.scales.begin(), diff.scales.end(), scale_fits);
}

}  // namespace qtool
