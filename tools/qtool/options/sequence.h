#pragma once

#include <string>
#include <vector>

#include "program/command.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

/// Samples that follow each other: --state, and how audio is cut into them, --window and --hop.
class SequenceOptions {
 public:
  /// For a command with --inputs; infer and bench run the first sample, with states of zeros.
  void add_to(Command& command);

  /// Throws Error(kUsage) for a --state that is not INPUT=OUTPUT.
  [[nodiscard]] TensorReading reading() const;

 private:
  std::vector<std::string> states_;
  AudioCut audio_;
};

}  // namespace qtool::tool
