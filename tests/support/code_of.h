#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "qtool/base/error.h"

namespace qtool {

/// The code of the Error that the call throws.
inline ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kCancelled;
}

}  // namespace qtool
