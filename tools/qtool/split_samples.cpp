#include "split_samples.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "report/shell.h"

namespace qtool::tool {
namespace {

// Correcting biases on so many samples takes longer than all other changes that are tried.
constexpr std::int64_t kMostToLearn = 16;

}  // namespace

LearnAndJudge split_samples(const SampleOptions& options, const Graph& graph,
                            const Preprocess& preprocess, const Samples& samples) {
  const std::optional<SampleOptions> first = options.half(1);
  const std::optional<SampleOptions> second = options.half(2);
  if (samples.size() < kFewestToSplit || !first || !second) return {std::nullopt, samples};
  LearnAndJudge split{learning_samples(*first, graph, preprocess), second->list(graph)};
  split.judge.keep();  // every change is judged by them
  return split;
}

LearningSamples learning_samples(SampleOptions chosen, const Graph& graph,
                                 const Preprocess& preprocess) {
  chosen.limit = chosen.limit == 0 ? kMostToLearn : std::min(chosen.limit, kMostToLearn);
  LearningSamples learn{chosen.list(graph), preprocess};
  learn.samples.keep();  // every recipe runs them
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) add_option(option, value, learn.words);
  };
  add("--images", chosen.images);
  add("--inputs", chosen.inputs);
  add("--part", chosen.part);
  add("--limit", to_text(chosen.limit));
  return learn;
}

}  // namespace qtool::tool
