#pragma once

#include <cstdint>
#include <functional>

namespace qtool {

/// Called from one thread at a time as long work advances, with the number of finished items and
/// the total. Returning `kStop` ends the work with ErrorCode::kCancelled.
enum class ProgressAnswer { kContinue, kStop };
using Progress = std::function<ProgressAnswer(std::int64_t done, std::int64_t total)>;

/// Asked many times during work that counts nothing (loading, preparing, compiling): true ends it
/// with ErrorCode::kCancelled. Must be cheap; several threads may ask at once. Empty: never ends.
using StopCheck = std::function<bool()>;

}  // namespace qtool
