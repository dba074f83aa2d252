#pragma once

#include <optional>

#include "cli/command.h"
#include "qtool/compare/evaluate.h"

namespace qtool::tool {

/// The limits of eval, so that scripts can go by its exit code: --min-agreement, --min-top1,
/// --max-top1-drop, --min-sqnr, --min-boxes-kept.
class LimitOptions {
 public:
  /// Call after the options --int8 and --boxes were added.
  void add_to(Command& command);
  /// Throws Error(kMismatch), which names every figure that misses its limit, and Error(kUsage) for
  /// a limit of a figure that `result` does not have. The figures themselves decide and not their
  /// intervals, so that the same files always give the same exit code.
  void require(const EvalResult& result) const;

 private:
  std::optional<double> min_agreement_;   // percent
  std::optional<double> min_top1_;        // percent
  std::optional<double> max_top1_drop_;   // points
  std::optional<double> min_sqnr_;        // dB
  std::optional<double> min_boxes_kept_;  // percent
};

}  // namespace qtool::tool
