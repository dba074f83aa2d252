#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/suggest_trials.h"
#include "base/partial_results.h"
#include "qtool/analyze/analyze.h"

namespace qtool {

/// What a search has measured, kept among partial results so that one that was stopped goes on with
/// it: the models that were run, and the sources of error. Bit for bit, so that the search takes
/// the same way again. What does not fit is as good as unknown: the file is untrusted.
class SearchMemory {
 public:
  /// `results`: null keeps nothing; must live as long.
  explicit SearchMemory(PartialResults* results) : results_(results) {}

  /// Fills in what is known of the models; runs the others on the samples of `runner`, so many, and
  /// keeps what they gave. Throws as Trials::run().
  void run(const Trials& runner, std::vector<Trial>& trials, std::int64_t samples);

  /// The sources, by kind, name, node, noise and share alone, and how many samples were run.
  [[nodiscard]] std::optional<AnalyzeResult> sources() const;
  void keep(const AnalyzeResult& analysis);

 private:
  [[nodiscard]] bool recall(Trial& trial, std::int64_t samples) const;
  void keep(const Trial& trial);

  PartialResults* results_;
};

}  // namespace qtool
