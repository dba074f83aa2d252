#pragma once

#include <cstdint>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

/// Converts an index read from data to one counted from the front; a negative index counts from the
/// end. Throws Error(kInvalidModel) when it is outside the axis.
inline std::int64_t checked_index(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) {
    throw Error(ErrorCode::kInvalidModel,
                to_text("found index ", index, ", expected one within an axis of extent ", extent));
  }
  return index < 0 ? index + extent : index;
}

}  // namespace qtool
