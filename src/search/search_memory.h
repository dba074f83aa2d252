#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/suggest_trials.h"
#include "base/partial_results.h"
#include "qtool/analyze/analyze.h"

namespace qtool {

/// Keeps the measurements of a search in partial results, so that a stopped search can continue:
/// the models that were run, and the sources of error. Numbers are kept bit for bit, so that the
/// search takes the same steps again. A kept result that does not fit is ignored, because the file
/// is untrusted.
class SearchMemory {
 public:
  /// `results` must outlive the object. Null: nothing is kept.
  explicit SearchMemory(PartialResults* results) : results_(results) {}

  /// Fills in the trials whose results are kept. Runs the others on the samples of `runner`, and
  /// keeps their results. `samples`: the number of samples. Returns how many were run. Throws as
  /// Trials::run() does, and Error(kCancelled) instead of running any where only
  /// kept results may be used.
  std::size_t run(const Trials& runner, std::vector<Trial>& trials, std::int64_t samples,
                  bool only_kept);

  /// The images that the runs left out. If all trials were kept results, the images that the
  /// earlier runs left out.
  [[nodiscard]] std::vector<BadImage> bad(const Trials& runner) const;

  /// The kept sources, and the number of samples that were run. Only the kind, name, node, noise
  /// and share of a source are filled. nullopt where no sources are kept.
  [[nodiscard]] std::optional<AnalyzeResult> sources() const;
  void keep(const AnalyzeResult& analysis);

 private:
  [[nodiscard]] bool recall(Trial& trial, std::int64_t samples) const;
  void keep(const Trial& trial);
  void keep(const std::vector<BadImage>& bad);

  PartialResults* results_;
};

}  // namespace qtool
