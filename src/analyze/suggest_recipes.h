#pragma once

#include <string>
#include <vector>

#include "qtool/analyze/analyze.h"

namespace qtool {

/// The rewrites that the base model has.
const std::vector<std::string>& rewrites_of(const StaticInputs& base);

/// Whole recipes to try before single changes: efforts that end by themselves, a correction of the
/// biases on samples, and the target of qtool's own runtime where the base has the default target.
/// `learned_on`: the options that name the samples to learn from; empty: no recipe that learns is
/// returned. What the base has already is not returned.
std::vector<Change> recipe_changes(const StaticInputs& base,
                                   const std::vector<std::string>& learned_on);

/// `change` with the tensors of `worst` in 16 bits: only the first, and the first few of them.
std::vector<Change> with_wide(const Change& change, const std::vector<std::string>& worst);

}  // namespace qtool
