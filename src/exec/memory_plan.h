#pragma once

#include <cstdint>
#include <vector>

#include "exec/plan.h"

namespace qtool {

/// Widens the steps during which each of `storages` lives to those of `plan` that read or write its
/// values, and to the end for outputs. `storages` has the indices of the plan's storages.
void widen_lives(const Plan::State& plan, std::vector<Storage>& storages);

/// Assigns arena offsets so that no two storages that live at the same step overlap. Greedy: the
/// largest storage first, each in the lowest gap that fits. Returns the bytes of the arena. Cost:
/// O(n log n) for n storages. The search for gaps is bounded, so the arena may be larger than
/// necessary when very many storages live at once.
std::int64_t assign_offsets(std::vector<Storage>& storages);

/// Throws Error(kUnsupported) if the activations of a plan need more memory than the machine has.
/// Checked before memory is allocated, because an allocation may succeed although using its memory
/// fails later.
void require_memory(std::int64_t bytes);

}  // namespace qtool
