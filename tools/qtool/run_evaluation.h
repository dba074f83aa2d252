#pragma once

#include "cli/command.h"
#include "model.h"
#include "options/images.h"
#include "options/run.h"
#include "qtool/compare/evaluate.h"

namespace qtool::tool {

/// Calls evaluate() with progress, and warns of what makes its figures doubtful. `images` selected
/// the samples; `options` says how they are prepared and which answers are compared. The result
/// says how many of them also set the ranges, if Models::calibrated_on is known. Refuses options of
/// `command` that have no effect on these models and samples.
EvalResult evaluate_with_progress(const Command& command, const Models& models,
                                  const SampleOptions& images, const Samples& samples,
                                  EvalOptions options, const RunOptions& run);

/// Throws Error(kInvalidModel) when nothing can be said of the accuracy. Call when the result is
/// printed.
void require_useful(const EvalResult& result);

}  // namespace qtool::tool
