#pragma once

#include <string>

#include "command.h"
#include "options_images.h"

namespace qtool::tool {

/// --mnn-config FILE: the configuration of MNN's quantization tool in the place of flags.
class MnnOptions {
 public:
  void add_to(Command& command);
  /// Sets the command's options that the file speaks about and the command line does not, and names
  /// its preprocessing; to be called by the command's callback, when all flags are known. Throws
  /// Error(kUsage) for a file that is not well-formed.
  void apply(Command& command, PreprocessOptions& preprocess) const;

 private:
  std::string file_;
};

}  // namespace qtool::tool
