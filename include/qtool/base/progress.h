#pragma once

#include <cstdint>
#include <functional>

namespace qtool {

/// Called from one thread at a time as long work advances, with the number of finished items and
/// the total. Returning `kStop` ends the work with ErrorCode::kCancelled.
enum class ProgressAnswer { kContinue, kStop };
using Progress = std::function<ProgressAnswer(std::int64_t done, std::int64_t total)>;

/// Called often during work without a progress count (loading, preparing, compiling). True ends the
/// work with ErrorCode::kCancelled. Must be cheap and callable from several threads at once. Empty:
/// the work is never ended.
using StopCheck = std::function<bool()>;

}  // namespace qtool
