#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

/// Samples that follow each other: --state, and --window and --hop, which cut audio into samples.
class SequenceOptions {
 public:
  /// For a command with --inputs. infer and bench run only the first sample, with states of zeros.
  void add_to(Command& command);

  /// Throws Error(kUsage) for a --state that is not INPUT=OUTPUT.
  [[nodiscard]] TensorReading reading() const;

 private:
  std::vector<std::string> states_;
  AudioCut audio_;
};

}  // namespace qtool::tool
