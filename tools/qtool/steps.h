#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "qtool/compare/evaluate.h"
#include "report/preprocessing.h"
#include "report/quantization.h"

namespace qtool::tool {

struct Calibrated {
  std::int64_t samples = 0;
  std::optional<SourcedPreprocess> preprocess;  ///< none if the samples were tensors
};

/// The results of commands that ran as steps of another command. Each command stores its own
/// result.
struct StepResults {
  std::optional<Calibrated> calibrated;
  std::optional<QuantizationSummary> quantized;
  std::optional<EvalResult> compared;
};

/// The command line of a step.
class StepLine {
 public:
  StepLine(const std::string& command, const std::string& model);

  void flag(const std::string& option) { words_.push_back(option); }
  void value(const std::string& option, const std::string& value);
  /// Adds options of the command that drives the step, with the values that they have there.
  void take(const Command& driver, const std::vector<std::string>& options);
  /// Adds all options of the driving command in a group of its help, with the values that they have
  /// there.
  void take_group(const Command& driver, const std::string& group);

  /// The words, the program first.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  void take(const Option& option);
  std::vector<std::string> words_;
};

/// Runs the command that `add` adds, as if it had been called with `words` and the flags `quietly`,
/// which say what it prints. Its result is not printed but stored in `results`. Throws as the
/// command does.
void run_step(AddCommand add, const std::vector<std::string>& words,
              const std::vector<std::string>& quietly, StepResults& results);

}  // namespace qtool::tool
