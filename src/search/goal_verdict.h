#pragma once

#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"

namespace qtool {

/// Judges the goals by the intervals of `part.best`: sets the verdict and the number of images that
/// would decide. A figure without an interval decides nothing.
void judge(const std::vector<SearchGoal>& goals, SearchedPart& part);

/// Runs both models on `samples`, and judges them. `best`: null if it is the base model. Images
/// that were left out are added to `bad`. Labels are read only for a goal of top-1 accuracy. Throws
/// as evaluate() does. Cost: a run of each model per image, and two runs of FP32.
SearchedPart judged_part(const Executor& fp32, const Executor& int8, const Executor* best,
                         const Samples& samples, const SearchOptions& options,
                         const Progress& progress, std::vector<BadImage>& bad);

}  // namespace qtool
