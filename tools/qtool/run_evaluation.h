#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cli/command.h"
#include "model.h"
#include "options/images.h"
#include "options/run.h"
#include "qtool/compare/evaluate.h"

namespace qtool::tool {

/// The overlap of `samples` with those that set the ranges, see overlap_of(). It reads all samples
/// once more, so a request to stop ends the reading only: nullopt then, and the result of the long
/// work before is printed. Its caller then calls stop_if_interrupted().
std::optional<Overlap> overlap_unless_stopped(std::span<const std::uint64_t> ids,
                                              const Samples& samples, int threads);

/// Calls evaluate() with progress, and warns of what makes its figures doubtful. `images` selected
/// the samples; `options` says how they are prepared and which answers are compared. The result
/// says how many of them also set the ranges, if Models::calibrated_on is known. When that was
/// stopped, the result is whole: print it, then call stop_if_interrupted(). Refuses options of
/// `command` that have no effect on these models and samples.
EvalResult evaluate_with_progress(const Command& command, const Models& models,
                                  const SampleOptions& images, const Samples& samples,
                                  EvalOptions options, const RunOptions& run);

/// Throws Error(kInvalidModel) when nothing can be said of the accuracy. Call when the result is
/// printed.
void require_useful(const EvalResult& result);

}  // namespace qtool::tool
