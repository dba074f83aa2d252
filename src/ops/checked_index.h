#pragma once

#include <cstdint>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

/// An index that the data gives, counted from the front; negative ones count from the end. Throws
/// Error(kInvalidModel) when it is outside.
inline std::int64_t checked_index(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) {
    throw Error(ErrorCode::kInvalidModel,
                concat("found index ", index, ", expected one within an axis of extent ", extent));
  }
  return index < 0 ? index + extent : index;
}

}  // namespace qtool
