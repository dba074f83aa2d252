#include "analyze/suggest_recipes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/target.h"

namespace qtool {
namespace {

/// The number of worst tensors that a recipe gets in 16 bits.
constexpr std::size_t kWideOfRecipe = 4;

/// The name of the target that only qtool's own runtime runs on integers; empty if there is none.
std::string own_target() {
  const auto found =
      std::ranges::find_if(targets(), [](const Target& target) { return target.wide_activations; });
  return found == targets().end() ? std::string() : std::string(found->name);
}

/// The efforts that learn from samples and end by themselves.
std::vector<Recipe> learning_efforts() {
  std::vector<Recipe> found;
  for (const EffortInfo& effort : efforts()) {
    Recipe recipe;
    recipe.effort = effort.effort;
    if (!effort.has_budget && !learning_steps(recipe).empty()) found.push_back(std::move(recipe));
  }
  return found;
}

/// Whether the base was made with the rewrites and the rounding of an effort.
bool is_made_with(const StaticInputs& base, const Recipe& effort) {
  const Recipe whole = resolved(effort);
  return whole.rounding == base.options.rounding && whole.rewrites == rewrites_of(base);
}

}  // namespace

const std::vector<std::string>& rewrites_of(const StaticInputs& base) {
  return base.options.rewrites ? *base.options.rewrites : base.table.rewrites.names;
}

std::vector<Change> recipe_changes(const StaticInputs& base,
                                   const std::vector<std::string>& learned_on) {
  std::vector<Change> changes;
  const std::string target = base.options.target == kDefaultTarget ? own_target() : std::string();
  if (!target.empty()) changes.push_back({.target = target});
  if (learned_on.empty()) return changes;
  for (const Recipe& effort : learning_efforts()) {
    Change change;
    change.effort = info_of(effort.effort).name;
    change.learned_on = learned_on;
    if (!is_made_with(base, effort)) changes.push_back(change);
    change.target = target;
    if (!target.empty()) changes.push_back(change);
  }
  changes.push_back({.corrects_biases = true, .learned_on = learned_on});
  return changes;
}

std::vector<Change> with_wide(const Change& change, const std::vector<std::string>& worst) {
  std::vector<Change> changes;
  for (const std::size_t count : {std::size_t{1}, std::min(worst.size(), kWideOfRecipe)}) {
    if (count > worst.size() || (!changes.empty() && count == 1)) break;
    changes.push_back(change);
    changes.back().wide.assign(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return changes;
}

}  // namespace qtool
