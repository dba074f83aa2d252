#pragma once

#include <cstdint>
#include <functional>

namespace qtool {

/// Called from one thread at a time as long work advances, with the number of finished items and
/// the total. Returning `kStop` ends the work with ErrorCode::kCancelled.
enum class ProgressAnswer { kContinue, kStop };
using Progress = std::function<ProgressAnswer(std::int64_t done, std::int64_t total)>;

/// Called often during work without a progress count (loading, preparing, compiling). Returning
/// true ends the work with ErrorCode::kCancelled. It must be cheap, and several threads may call it
/// at once. An empty function never ends the work.
using StopCheck = std::function<bool()>;

}  // namespace qtool
