#pragma once

#include <functional>

namespace qtool::tool {

// The exit codes of the program; documented in `qtool --help`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // 128 + N if signal N ended the work

/// Runs `program` and returns the exit code that it gives. If it throws, prints the error and
/// returns the code of that error, or the code of the signal that asked the work to stop.
int exit_code_of(const std::function<int()>& program);

}  // namespace qtool::tool
