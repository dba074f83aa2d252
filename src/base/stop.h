#pragma once

#include "qtool/base/error.h"
#include "qtool/base/progress.h"

namespace qtool {

/// Throws Error(kCancelled) when the caller wants the work to end.
inline void check_stop(const StopCheck& stop) {
  if (stop && stop()) throw Error(ErrorCode::kCancelled, "stopped on request");
}

}  // namespace qtool
