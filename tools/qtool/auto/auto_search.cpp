#include "auto/auto_search.h"

#include <cstdint>

#include "auto/auto_lines.h"
#include "base/text.h"
#include "cli/value_checks.h"
#include "run_search.h"

namespace qtool::tool {

bool knows_classes(const SampleOptions& calibrates, const Samples& samples) {
  if (calibrates.labels.empty()) return false;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    if (samples.label(i) >= 0) return true;
  }
  return false;
}

SearchOptions search_options(const std::string& time, const Advice& advice, const EvalOptions& eval,
                             const MakeOptions& make) {
  SearchOptions search;
  search.goals = {
      goal_of(advice.goal.at(0), parse_double(advice.goal.at(1), ""), kDefaultConfidence)};
  search.answers = eval.answers;
  search.preprocess = make.preprocess;
  search.bad_images = make.bad_images;
  search.budget_seconds = seconds_of_time(time);
  search.least_integer_share = static_cast<double>(kLeastIntegers) / 100.0;
  return search;
}

}  // namespace qtool::tool
