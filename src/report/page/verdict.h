#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/next_step.h"
#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "report/first_model.h"
#include "report/suggestions.h"

namespace qtool {

/// What a page says first: whether to use the INT8 model, by which figure, and what to do.
struct Verdict {
  std::string name;     ///< for the page: `use`, `use_changed`, `do_not_use`, `undecided`
  std::string heading;  ///< `Do not use it as it is`
  std::string figure;   ///< the figure that is judged, with its interval; empty if `why` has it
  std::string why;      ///< the reason, see Advice::why
  std::string next;     ///< what to do, in words
  std::vector<std::string> lines{};  ///< the commands that do it, quoted for a shell
};

/// The verdict on a model. `advice` is that of advise() for `compared`. `tried`: changes of the
/// model, null if none were tried; `making`: the commands that make the model. `commands`: other
/// commands for the next step; left out where a change is named with the commands that make it.
/// `searched`: the search of `auto` that found the model, null if there was none.
Verdict verdict_of(const Advice& advice, const EvalResult& compared, const SuggestResult* tried,
                   const MakingCommands& making, const std::vector<CommandWords>& commands,
                   const FirstSearch* searched = nullptr);

}  // namespace qtool
