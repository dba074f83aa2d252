#pragma once

#include <string>

#include "options/samples.h"
#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"
#include "report/first_model.h"

namespace qtool::tool {

/// Whether the classes of `samples` are known, which `calibrates` selected: whether --labels names
/// them and some samples lie in folders of these names. The order of folders alone says no class.
bool knows_classes(const SampleOptions& calibrates, const Samples& samples);

/// The options of a search for the goal of `advice` that takes `time`, such as 10m. `eval`: how the
/// answers are compared; `make`: how the samples are prepared.
SearchOptions search_options(const std::string& time, const Advice& advice, const EvalOptions& eval,
                             const MakeOptions& make);

}  // namespace qtool::tool
