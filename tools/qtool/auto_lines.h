#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "detector_advice.h"
#include "options/accuracy.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/run.h"
#include "options/target.h"
#include "options/verify.h"
#include "qtool/pipeline/recipe.h"
#include "report/first_model.h"
#include "shown_command.h"

namespace qtool::tool {

/// The options of `auto`.
struct AutoCommand {
  std::string model;
  std::string folder;
  std::string compare;
  std::string target{kDefaultTarget};
  std::string effort{kFirstEffort};
  std::string report;
  double min_sqnr_db = kDefaultVerifyDb;
  SampleOptions images;
  PreprocessOptions preprocess;
  OutputOptions outputs;
  RunOptions run;
};

/// The files that `auto` writes or names.
struct AutoFiles {
  std::string table;
  std::string model;
  std::string overrides;  ///< the file that a search would write
};

/// What selects the samples of the two halves of the work.
struct AutoHalves {
  SampleOptions calibrates;
  SampleOptions compares;
  bool too_few = false;  ///< they are the same
};

/// The command lines that `auto` prints: the same work in steps, and the next step.
class AutoLines {
 public:
  /// `command`: the running one. The arguments must outlive the object.
  AutoLines(const AutoCommand& options, const Command& command, const Recipe& recipe,
            const AutoHalves& halves, const AutoFiles& files);

  [[nodiscard]] CommandWords calibrate() const;
  /// `model`: the file to write.
  [[nodiscard]] CommandWords quantize(const std::string& model) const;
  /// Compares the INT8 model `model` with FP32 on at most `limit` samples; 0: on all.
  [[nodiscard]] CommandWords eval(const std::string& model, std::int64_t limit) const;
  /// The running command again, for `target`, with what is `usual` beside the given preprocessing.
  [[nodiscard]] CommandWords again(const std::string& target,
                                   const UsualPreprocessing& usual) const;
  /// The lines for the step of `advice`. None where only the user can say what is missing.
  [[nodiscard]] std::vector<CommandWords> next(const Advice& advice, const FirstModel& made) const;

 private:
  [[nodiscard]] bool denies_boxes() const;
  void take_outputs(const std::vector<std::string>& options, ShownCommand& line) const;
  [[nodiscard]] std::vector<CommandWords> search(const Advice& advice) const;
  [[nodiscard]] CommandWords infer(const FirstModel& made) const;

  const AutoCommand& options_;
  const Command& command_;
  const Recipe& recipe_;
  const AutoHalves& halves_;
  const AutoFiles& files_;
};

}  // namespace qtool::tool
