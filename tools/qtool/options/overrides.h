#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "qtool/calib/overrides.h"

namespace qtool::tool {

/// Whether a command makes a model or only a table. A table does not record wide tensors.
enum class OverrideUse { kTable, kModel };

/// Ranges, scales and exclusions from the user: --exclude, --range, --scale, --overrides; for a
/// model also --wide.
class OverrideOptions {
 public:
  void add_to(Command& command, OverrideUse use);
  /// The entries of the file, then the entries of the flags. Throws Error(kUsage) for a malformed
  /// flag, and Error(kInvalidArgument) for a malformed file.
  [[nodiscard]] Overrides read() const;

 private:
  std::vector<std::string> exclude_;
  std::vector<std::string> ranges_;
  std::vector<std::string> scales_;
  std::vector<std::string> wide_;
  std::string file_;
};

}  // namespace qtool::tool
