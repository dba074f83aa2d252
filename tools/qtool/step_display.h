#pragma once

#include <optional>
#include <string>

#include "model.h"
#include "options/run.h"
#include "progress.h"
#include "qtool/pipeline/make_model.h"

namespace qtool::tool {

/// Shows how far the steps on the way to a model are, and prints what a user should know of their
/// results.
class StepDisplay {
 public:
  /// `noun`: the word for a sample.
  StepDisplay(const RunOptions& run, std::string noun);

  /// The options that make the library report to this display, which must outlive their use. How
  /// images are prepared is left open.
  [[nodiscard]] MakeOptions options(const Model& fp32);
  /// Takes the progress of a step that did not end from the terminal.
  void clear() { progress_.reset(); }

 private:
  int threads_;
  ProgressStyle style_;
  std::string noun_;
  std::optional<ProgressDisplay> progress_;  // of the step that runs
};

}  // namespace qtool::tool
