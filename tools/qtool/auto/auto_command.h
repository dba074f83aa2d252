#pragma once

#include <string>

#include "options/accuracy.h"
#include "options/also_time.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/run.h"
#include "options/target.h"
#include "options/verify.h"

namespace qtool::tool {

/// The options of `auto`.
struct AutoCommand {
  std::string model;
  std::string folder;
  std::string compare;
  std::string target{kDefaultTarget};
  std::string effort{kFirstEffort};
  std::string report;
  std::string search;  ///< the time to search, such as 10m; empty: no search
  double min_sqnr_db = kDefaultVerifyDb;
  SampleOptions images;
  PreprocessOptions preprocess;
  OutputOptions outputs;
  AlsoTimeOption also_time;
  RunOptions run;
};

}  // namespace qtool::tool
