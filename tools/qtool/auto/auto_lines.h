#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "auto/auto_command.h"
#include "auto/auto_files.h"
#include "auto/detector_advice.h"
#include "cli/command.h"
#include "options/images.h"
#include "qtool/pipeline/recipe.h"
#include "report/first_model.h"
#include "shown_command.h"

namespace qtool::tool {

/// The share of the multiplications that a search must leave on integers, in percent.
inline constexpr int kLeastIntegers = 75;
/// The time for a search in a command that is printed.
inline constexpr const char* kSearchTime = "10m";

/// What selects the samples of the two halves of the work.
struct AutoHalves {
  SampleOptions calibrates;
  SampleOptions compares;
  bool too_few = false;  ///< they are the same
};

/// The command lines that `auto` prints: the same work in steps, and the next step.
class AutoLines {
 public:
  /// `command`: the running one. The arguments must outlive the object. The lines follow later
  /// changes of `recipe`: overrides of it are those in the file AutoFiles::overrides.
  AutoLines(const AutoCommand& options, const Command& command, const Recipe& recipe,
            const AutoHalves& halves, const AutoFiles& files);

  [[nodiscard]] CommandWords calibrate() const;
  /// `model`: the file to write.
  [[nodiscard]] CommandWords quantize(const std::string& model) const;
  /// The same with the model options of another recipe.
  [[nodiscard]] CommandWords quantize(const std::string& model, const Recipe& recipe) const;
  /// Compares the INT8 model `model` with FP32 on at most `limit` samples; 0: on all.
  [[nodiscard]] CommandWords eval(const std::string& model, std::int64_t limit) const;
  /// Searches the overrides that a model needs for `goals`, which are options of `search`, each
  /// with its value. `least_integers`: percent of the multiplications that stay on integers.
  [[nodiscard]] CommandWords search(const CommandWords& goals, int least_integers) const;
  /// The running command again, for `target`, with what is `usual` beside the given preprocessing.
  /// `search`: the time to search; empty: no search.
  [[nodiscard]] CommandWords again(const std::string& target, const UsualPreprocessing& usual,
                                   const std::string& search) const;
  /// The lines for the step of `advice`. None where only the user can say what is missing.
  [[nodiscard]] std::vector<CommandWords> next(const Advice& advice, const FirstModel& made) const;

 private:
  [[nodiscard]] bool denies_boxes() const;
  [[nodiscard]] std::string search_time() const;
  [[nodiscard]] std::vector<CommandWords> keep_nodes(const Advice& advice,
                                                     const FirstModel& made) const;
  void take_outputs(const std::vector<std::string>& options, ShownCommand& line) const;
  [[nodiscard]] CommandWords infer(const FirstModel& made) const;

  const AutoCommand& options_;
  const Command& command_;
  const Recipe& recipe_;
  const AutoHalves& halves_;
  const AutoFiles& files_;
};

}  // namespace qtool::tool
