#pragma once

#include <string>

#include "cli/command.h"
#include "qtool/calib/method.h"

namespace qtool::tool {

/// How ranges are decided: --method, --bins, --percentile, --momentum.
struct DecisionOptions {
  std::string method{kDefaultMethod};
  MethodOptions values;

  void add_to(Command& command);
};

/// Where statistics come from and go to: --two-pass, --save-statistics, --from.
struct StatisticsOptions {
  bool two_pass = false;
  bool save = false;
  std::string from;  ///< a table whose statistics were saved

  void add_to(Command& command);
};

}  // namespace qtool::tool
