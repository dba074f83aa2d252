#pragma once

#include <string>

#include "options/images.h"
#include "program/command.h"

namespace qtool::tool {

/// --mnn-config FILE: the configuration of MNN's quantization tool instead of flags.
class MnnOptions {
 public:
  void add_to(Command& command);
  /// Sets the command's options that are in the file and not on the command line, and its
  /// preprocessing; to be called by the command's callback, when all flags are known. Throws
  /// Error(kUsage) for a file that is not well-formed.
  void apply(Command& command, PreprocessOptions& preprocess) const;

 private:
  std::string file_;
};

}  // namespace qtool::tool
