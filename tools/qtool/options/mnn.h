#pragma once

#include <string>

#include "cli/command.h"
#include "options/images.h"

namespace qtool::tool {

/// --mnn-config FILE: the configuration of MNN's quantization tool instead of flags.
class MnnOptions {
 public:
  void add_to(Command& command);
  /// Sets the options of the command from the file, unless they are on the command line, and its
  /// preprocessing. Call in the command's callback, when all flags are known. Throws Error(kUsage)
  /// for a malformed file.
  void apply(Command& command, PreprocessOptions& preprocess) const;

 private:
  std::string file_;
};

}  // namespace qtool::tool
