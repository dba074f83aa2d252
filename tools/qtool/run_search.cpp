#include "run_search.h"

#include "base/check.h"
#include "base/text.h"
#include "console.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "report/search.h"
#include "signals.h"

namespace qtool::tool {

SearchGoal goal_of(std::string_view option, double value, double confidence) {
  SearchGoal goal;
  goal.value = value;
  goal.confidence = confidence / 100.0;
  if (option == "--min-sqnr") {
    goal.kind = SearchGoal::Kind::kSqnr;
  } else if (option == "--min-agreement") {
    goal.kind = SearchGoal::Kind::kAgreement;
  } else if (option == "--max-top1-drop") {
    goal.kind = SearchGoal::Kind::kTop1Drop;
  } else {
    QTOOL_CHECK(option == "--min-boxes-kept");
    goal.kind = SearchGoal::Kind::kBoxes;
  }
  return goal;
}

SearchResult search_with_progress(const Model& fp32, const StaticInputs& base,
                                  const Samples& samples, SearchOptions options,
                                  const RunOptions& run) {
  options.threads = run.threads;
  options.stop = interrupted;
  options.announce = [&](const SearchCost& cost) { note(text_of(cost, run.threads)); };
  ProgressDisplay progress("search", "seconds of the budget", run.progress_style(),
                           FinalLine::kNone);
  options.progress = progress.callback();
  options.improved = [&](const SearchPoint& point, double seconds) {
    progress.remark(to_text("after ", to_fixed(seconds, 1), " of ",
                            to_fixed(options.budget_seconds, 1), " s the best is ",
                            text_of(point, options.goals)));
  };
  return search(*fp32.executor, base, samples, options);
}

void require_room(Overrides overrides, const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    overrides.exclude.push_back(graph.node(id).name);
    for (const ValueId output : graph.node(id).outputs) {
      if (output != kNoValue) overrides.wide.push_back(graph.value(output).name);
    }
  }
  try {
    static_cast<void>(to_json_text(overrides));
  } catch (const Error&) {
    throw Error(
        ErrorCode::kUnsupported,
        to_text("the names of all nodes and tensors do not fit into a file of overrides of ",
                kMaxOverridesBytes, " bytes, so that the result could not be written"));
  }
}

void add_found(const SearchPoint& found, Overrides& overrides) {
  overrides.exclude.insert(overrides.exclude.end(), found.exclude.begin(), found.exclude.end());
  overrides.wide.insert(overrides.wide.end(), found.wide.begin(), found.wide.end());
}

}  // namespace qtool::tool
