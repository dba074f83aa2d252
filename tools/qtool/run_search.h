#pragma once

#include <string_view>

#include "model.h"
#include "options/run.h"
#include "qtool/calib/overrides.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"

namespace qtool::tool {

/// The goal that an option of `search`, such as `--min-agreement`, sets to `value`. `confidence`:
/// in percent, see SearchGoal::confidence. The option must be one that sets a goal alone.
SearchGoal goal_of(std::string_view option, double value, double confidence);

/// The confidence of a goal where no option says it, in percent.
inline constexpr double kDefaultConfidence = 90.0;

/// Calls search() with progress, and says what it will cost and what it has found so far. It ends
/// when the user interrupts it. `base`: the model to begin with.
SearchResult search_with_progress(const Model& fp32, const StaticInputs& base,
                                  const Samples& samples, SearchOptions options,
                                  const RunOptions& run);

/// Throws Error(kUnsupported) unless `overrides` with the names of all nodes and tensors of `graph`
/// fit into a file. Call before a search, so that its result can be written.
void require_room(Overrides overrides, const Graph& graph);

/// Adds to `overrides` what `found` leaves in FP32 and in 16 bits.
void add_found(const SearchPoint& found, Overrides& overrides);

}  // namespace qtool::tool
