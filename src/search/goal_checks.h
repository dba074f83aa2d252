#pragma once

#include "analyze/suggest_trials.h"
#include "qtool/search/search.h"

namespace qtool {

/// Throws Error(kUsage) for values out of their domain.
void check_options(const SearchOptions& options);

/// Throws Error(kUnsupported) or Error(kUsage) where a goal has no meaning for the network.
/// `int8`: the trial of the INT8 model.
void require_meaning(const SearchOptions& options, const Trial& int8);

}  // namespace qtool
