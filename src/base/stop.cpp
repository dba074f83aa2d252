#include "base/stop.h"

#include "base/text.h"

namespace qtool {

void report_progress(const Progress& progress, std::int64_t done, std::int64_t total,
                     std::string_view work, std::string_view items) {
  if (progress && progress(done, total) == ProgressAnswer::kStop) {
    throw Error(ErrorCode::kCancelled,
                concat(work, " stopped after ", done, " of ", total, " ", items));
  }
}

}  // namespace qtool
