#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "analyze/suggest_trials.h"
#include "qtool/analyze/analyze.h"

namespace qtool {

/// Whether `whole` contains all of `part`.
bool holds(const Change& whole, const Change& part);

/// The size of a change: the number of nodes in FP32 and tensors in 16 bits, which cost time; and
/// the number of other options.
std::pair<std::size_t, std::size_t> size_of(const Change& change);

/// The changes to suggest of those that were tried, without times, in the order of
/// SuggestResult::suggestions. The first trial is the base model; it must have a noise. Trials
/// without a noise are left out.
std::vector<Suggestion> chosen(std::span<const Trial> tried, const SuggestOptions& options);

/// Brings suggestions into the order of SuggestResult::suggestions.
void put_in_order(std::vector<Suggestion>& suggestions);

}  // namespace qtool
