#pragma once

#include <string>

#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/search/search.h"
#include "report/first_model.h"

namespace qtool::tool {

/// The options of a search for the goal of `advice` that takes `time`, such as 10m. `eval`: how the
/// answers are compared; `make`: how the samples are prepared.
SearchOptions search_options(const std::string& time, const Advice& advice, const EvalOptions& eval,
                             const MakeOptions& make);

}  // namespace qtool::tool
