#pragma once

#include <cstdint>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/base/progress.h"

namespace qtool {

/// Throws Error(kCancelled) when the caller wants the work to end.
inline void check_stop(const StopCheck& stop) {
  if (stop && stop()) throw Error(ErrorCode::kCancelled, "stopped on request");
}

/// Calls `progress`, if there is one. Throws Error(kCancelled) when it asks to stop: "`work`
/// stopped after `done` of `total` `items`".
void report_progress(const Progress& progress, std::int64_t done, std::int64_t total,
                     std::string_view work, std::string_view items);

}  // namespace qtool
